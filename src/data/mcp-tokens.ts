// The tokens of MCP servers in the data folder: one file for each server, sealed with the vault's key, readable by its owner
// only. A file is bound to the server's address, so that a token never goes to another server of the same name.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnwireConfig } from '../config/config.ts'
import type { Vault } from '../engine/ports/index.ts'
import { replaceFile, textOfFile } from '../lib/files/replace-file.ts'
import { sha256 } from '../lib/json/hash.ts'
import { isJsonObject, type Json, parseJson } from '../lib/json/index.ts'
import type { AuthStore, KeptAuth, McpServerSpec } from '../tools/mcp/index.ts'

/** Without a folder tokens are kept in memory. */
export function tokenStore(
  folder: string | undefined,
  { name, url }: { name: string; url: string },
  vault: () => Vault,
): AuthStore {
  if (folder === undefined) return inMemory()
  const file = tokenFile(folder, name, url)
  return {
    load: () => read(file, url, vault()),
    save: kept => replaceFile(file, vault().seal(JSON.stringify({ url, kept }), 'mcp tokens')),
  }
}

/** False: there was none. */
export function forgetTokens(folder: string, { name, url }: { name: string; url: string }): boolean {
  const file = tokenFile(folder, name, url)
  const was = textOfFile(file) !== undefined
  rmSync(file, { force: true })
  return was
}

/** The servers that stand elsewhere, with their addresses. */
export function remoteServers({ mcp = {} }: TurnwireConfig): Extract<McpServerSpec, { url: string }>[] {
  return Object.entries(mcp).flatMap(([name, server]) => ('url' in server ? [{ ...server, name }] : []))
}

function inMemory(): AuthStore {
  let kept: KeptAuth = {}
  return {
    load: () => kept,
    save: next => {
      kept = next
    },
  }
}

function tokenFile(folder: string, name: string, url: string): string {
  return join(folder, 'mcp', `${name}-${sha256(url).slice(0, 16)}.sealed`)
}

function read(file: string, url: string, vault: Vault): KeptAuth {
  const sealed = textOfFile(file)
  if (sealed === undefined) return {}
  const opened: Json | undefined = parseJson(vault.open(sealed.trim(), 'mcp tokens'))
  if (!isJsonObject(opened) || opened['url'] !== url || !isJsonObject(opened['kept'])) return {}
  return opened['kept'] as unknown as KeptAuth // What `save` was given.
}
