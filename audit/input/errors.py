"""What a person can put right about an audit."""


class AuditError(Exception):
    """One sentence: what cannot be used, where, and what to do next."""
