"""What a person can put right about an audit."""

from pulsar_conformance.specs.errors import UserError


class AuditError(UserError):
    """One sentence: what cannot be used, where, and what to do next."""
