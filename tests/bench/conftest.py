from support.commands import overread, phantom_cache, workspace

__all__ = ["overread", "phantom_cache", "workspace"]
