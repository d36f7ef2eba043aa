"""The operations, one file each: the questions for a load balancer, and what is known of them.

A new operation is a file in one of these folders, its schema in `specs/schema/operations`, and its
rules.
"""
