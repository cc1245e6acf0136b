"""The MCP server: tools, resources and prompts for assistants, over stdio and HTTP."""
