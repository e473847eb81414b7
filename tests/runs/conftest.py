from support.commands import no_pages, overread, pages, phantom_cache, workspace

__all__ = ["no_pages", "overread", "pages", "phantom_cache", "workspace"]
