// Runs what the files in deploy/ would start, without containers: their own commands and environments, in a clean folder, as a user who
// may write only where the file lets them. Ports differ, so that several tests run at once; no image is built.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parse } from 'yaml'
import { command, environment, root, type Started, turnwire, watched } from '../cli/rig.ts'
import { tempFolder } from '../temp-folder.ts'

export const readDeploy = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8')

/** Somebody without rights, where this process may become them. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A folder whose `app` has the package installed, which `nobody` can read and not write. */
export function appFolder(t: TestContext): string {
  const folder = tempFolder(t, 'turnwire-deploy-')
  chmodSync(folder, 0o755)
  const app = join(folder, 'app')
  mkdirSync(join(app, 'node_modules/.bin'), { recursive: true })
  symlinkSync(root, join(app, 'node_modules/turnwire'))
  symlinkSync(command, join(app, 'node_modules/.bin/turnwire'))
  return folder
}

/** What is writable for the user that the file names. */
export function givenTo(folder: string): string {
  mkdirSync(folder, { recursive: true })
  if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid)
  return folder
}

/** A key and its entry, as the comments of the files say to make them. */
export function makeKey(cwd: string): { key: string; entry: string } {
  const { stdout } = turnwire(['keys', 'hash', 'me'], { cwd })
  const [, key = ''] = /^(tw_\S+)$/m.exec(stdout) ?? []
  const [, entry = ''] = /^TURNWIRE_KEYS=(\S+)$/m.exec(stdout) ?? []
  return { key, entry }
}

export const onPort = (words: readonly string[], port: number): string[] =>
  words.map(word => word.replaceAll('4117', String(port)))

/** The words of the Dockerfile's ENTRYPOINT and CMD. */
export function imageCommand(): string[] {
  const list = (name: string): string[] =>
    JSON.parse(
      new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(readDeploy('Dockerfile'))?.[1] ?? '[]',
    ) as string[]
  const words = [...list('ENTRYPOINT'), ...list('CMD')]
  assert.equal(words[1], 'node_modules/.bin/turnwire')
  return words
}

export type Start = { words: readonly string[]; cwd: string; env: Record<string, string> }

/** Runs the command as nobody until it listens. */
export async function startDeployed(
  t: TestContext,
  { words, cwd, env }: Start,
): Promise<Started & { url: string }> {
  const [program = '', ...args] = words
  const path = process.execPath.replace(/\/[^/]+$/, '')
  const started = watched(
    t,
    spawn(program, args, {
      cwd,
      env: { ...environment(), PATH: `${path}:/usr/bin:/bin`, HOME: '/nowhere', ...env },
      ...nobody,
    }),
  )
  await started.until(/Ctrl-C stops it/)
  return { ...started, url: `http://127.0.0.1:${args[args.indexOf('--port') + 1]}` }
}

export type Secrets = { databaseUrl: string; clusterSecret: string; vaultKey: string; keys: string }

type Compose = { services: Record<string, { environment: Record<string, string> }> }

/** The environment of a node in the compose file, filled in as its .env would. */
export function composeEnvironment(service: 'node-1' | 'node-2', secrets: Secrets): Record<string, string> {
  const { services } = parse(readDeploy('compose.yaml'), { merge: true }) as Compose // its own shape
  const filled = (text: string): string =>
    text
      .replace(/^postgres:.*$/, secrets.databaseUrl)
      .replace(/\$\{TURNWIRE_CLUSTER_SECRET.*\}/, secrets.clusterSecret)
      .replace(/\$\{TURNWIRE_VAULT_KEY.*\}/, secrets.vaultKey)
      .replace(/\$\{TURNWIRE_KEYS.*\}/, secrets.keys)
  return Object.fromEntries(
    Object.entries(services[service]?.environment ?? {}).map(([name, value]) => [name, filled(value)]),
  )
}
