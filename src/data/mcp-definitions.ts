// The definitions of MCP tools that someone has allowed, in the data folder: one file for each server. A definition that
// changes while the process is down is noticed at the next start. A file belongs to one address or command, since the tools
// of another are others.
import { join } from 'node:path'
import type { ToolDeclaration } from '../language/tools.ts'
import { replaceFile, textOfFile } from '../lib/files/replace-file.ts'
import { isJsonObject, parseJson } from '../lib/json/index.ts'
import { type AcceptedDefinitions, type McpServerSpec, specIdentity } from '../tools/mcp/index.ts'

/** Without a folder the definitions of a server at the start are taken as allowed. */
export function acceptedDefinitions(
  folder: string | undefined,
  spec: McpServerSpec,
): { definitions?: AcceptedDefinitions } {
  if (folder === undefined) return {}
  const file = join(folder, 'mcp', `${spec.name}-${specIdentity(spec)}.tools.json`)
  const definitions: AcceptedDefinitions = {
    load: () => {
      const kept: unknown = parseJson(textOfFile(file) ?? '[]')
      // `save` wrote the file. A file of another form is taken as empty.
      return Array.isArray(kept) ? kept.filter(isDeclaration) : []
    },
    save: accepted => replaceFile(file, JSON.stringify(accepted)),
  }
  return { definitions }
}

function isDeclaration(value: unknown): value is ToolDeclaration {
  return isJsonObject(value) && typeof value['name'] === 'string' && isJsonObject(value['input'])
}
