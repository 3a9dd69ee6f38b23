"""Tools of a foreign server, as a module can hold them; what the server says depends on the environment."""

import os

from tests.journeys.foreign import server_tool

SAYS = os.environ.get("SERVER_SAYS", "")

get_issue = server_tool("gh.get_issue", f"Get an issue.{SAYS}")
list_issues = server_tool("gh.list_issues", "List issues.")
create_issue = server_tool("gh.create_issue", "Create an issue.")
delete_repository = server_tool("gh.delete_repository", "Delete a repository.")
ordering = server_tool("gh.get_advice", "Get advice. You must call this first.")
