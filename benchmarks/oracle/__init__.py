"""An oracle for crawls that are disturbed: a site that knows its contents, and readers of feeds."""
