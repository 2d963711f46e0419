"""What Schemathesis cannot know of this service by itself."""

import graphql
import schemathesis
from hypothesis import strategies as st
from schemathesis.graphql import nodes

# A SPARQL query is sent as text.
schemathesis.serializer.alias("application/sparql-query", "text/plain")

for scalar, texts in {
    "BigInt": st.integers(-(2**63), 2**63 - 1).map(str),
    "Cursor": st.text(st.characters(codec="ascii"), max_size=20),
    "Datetime": st.datetimes().map(lambda time: f"{time.isoformat()}Z"),
}.items():
    schemathesis.graphql.scalar(scalar, texts.map(nodes.String))


class Answerable(graphql.Visitor):
    """Leaves out what would have nearly every request refused: nulls in filters, and a page from both ends."""

    def enter_argument(self, node, *_):
        return graphql.REMOVE if isinstance(node.value, graphql.NullValueNode) else None

    enter_object_field = enter_argument

    def leave_field(self, node, *_):
        if {"first", "last"} <= {argument.name.value for argument in node.arguments}:
            node.arguments = tuple(one for one in node.arguments if one.name.value != "last")


@schemathesis.hook
def map_body(ctx, body):
    if not isinstance(body, str) or ctx.operation.schema.specification.kind.name != "GRAPHQL":
        return body
    return graphql.print_ast(graphql.visit(graphql.parse(body), Answerable()))


@schemathesis.check
def errors_are_refusals(ctx, response, case):
    """Every error of GraphQL has a code and a status, and none is the service's own fault."""
    assert response.status_code < 500, response.text
    for error in response.json().get("errors", []):
        extensions = error.get("extensions", {})
        assert extensions.get("code"), f"without a code: {error}"
        assert extensions.get("statusCode", 500) < 500, f"our own fault: {error}"
