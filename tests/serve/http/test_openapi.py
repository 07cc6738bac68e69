"""Every route keeps what it says of itself, whatever it is sent."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serve.http.conftest import Served
from tests.serve.http.test_auth import ROUTES

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.fixture(scope="module")
def api(served: Served) -> Any:
    return schemathesis.openapi.from_url(f"{served.address}/openapi.json").exclude(operation_id="events")


def hold(operation: Any, mode: GenerationMode, headers: dict[str, str], examples: int) -> None:
    """Call one route with made-up values; raises where an answer is not as it should be."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def held(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    held()


@pytest.mark.parametrize("examples", [3, pytest.param(100, marks=pytest.mark.long)])
def test_no_route_fails_and_each_answers_as_it_says(served: Served, api: Any, examples: int) -> None:
    headers = {"Authorization": f"Bearer {served.secrets['admin']}"}
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) == len(ROUTES)
    for operation in operations:
        for mode in (GOOD, BAD) if operation.method == "post" else (GOOD,):
            hold(operation, mode, headers, examples)
