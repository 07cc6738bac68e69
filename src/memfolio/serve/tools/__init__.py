"""What agents call by name: functions of a `Memory` and plain values, for every door that offers tools."""
