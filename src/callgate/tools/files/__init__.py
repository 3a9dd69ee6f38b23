"""Files: reading, writing, listing and searching files where the policy allows."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="files",
    tools={"read_file": (), "write_file": (), "list_directory": (), "list_dir": (), "search_files": ()},
    programs={"search_files": "rg"},
)
