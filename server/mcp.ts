// The tool endpoint, POST /v0/mcp: church search for AI clients, in the Model Context Protocol.

/** Where the tool endpoint stands. */
export const MCP_PATH = "/v0/mcp";
