"""Who speaks at a seat, and how: roles are YAML files."""

from roles.role import Example, Format, Memory, Reply, Role, Sampling, load, names

__all__ = ["Example", "Format", "Memory", "Reply", "Role", "Sampling", "load", "names"]
