"""Memories that come from elsewhere and go elsewhere: one small module for each form, one way in and one way out."""
