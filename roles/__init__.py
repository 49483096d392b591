"""Who speaks at a seat, and how: roles are YAML files."""

from roles.role import Example, Role, Sampling, load, names

__all__ = ["Example", "Role", "Sampling", "load", "names"]
