// Runs the official conformance suite as its users do, by its command, and reads the checks that it wrote.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export type Role = 'client' | 'server'
export const revisions = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof revisions)[number]

type Check = { id: string; status: string; errorMessage?: string; description?: string }

/** Of one scenario: the ids of the checks that failed, with what the suite said. */
export type ScenarioResult = { scenario: string; failed: Map<string, string> }

const home = new URL('../../../../node_modules/@modelcontextprotocol/conformance/', import.meta.url)
const program = fileURLToPath(new URL('dist/index.js', home))

/** Every scenario that a revision has for a role, also those that the suite runs but does not count. */
export function scenariosOf(role: Role, revision: Revision): string[] {
  const file = readFileSync(new URL(`requirements/${revision}.yaml`, home), 'utf8')
  const set = parse(file) as Record<Role, string[]> & { not_scored: { scenario: string; leg: string }[] }
  const uncounted = set.not_scored.filter(({ leg }) => leg === role).map(({ scenario }) => scenario)
  return [...set[role], ...uncounted].sort()
}

/** `what`: a revision, or the name of one scenario. */
export async function runSuite(
  role: Role,
  what: Revision | { scenario: string },
  target: readonly string[],
): Promise<ScenarioResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    const which = typeof what === 'string' ? ['--requirements', what] : ['--scenario', what.scenario]
    const said = await output([
      program,
      role,
      ...which,
      '--output-dir',
      folder,
      '--timeout',
      '120000',
      ...target,
    ])
    const results = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('checks.json'))
      .map(file => resultOf(role, file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Check[]))
    if (results.length === 0) throw new Error(`The suite ran nothing:\n${said}`)
    return results.sort((a, b) => (a.scenario < b.scenario ? -1 : 1))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function output(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    child.on('error', reject)
    child.on('close', () => resolve(said))
  })
}

/** A folder is named `[server-]<scenario>-<time>`; a scenario may have a slash in it. */
function resultOf(role: Role, file: string, checks: Check[]): ScenarioResult {
  const scenario = file
    .replace(/[\\/]checks\.json$/, '')
    .replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, '')
    .replace(role === 'server' ? /^server-/ : '', '')
  const failed = new Map<string, string>()
  for (const { id, status, errorMessage, description } of checks)
    if (status === 'FAILURE' || status === 'WARNING') failed.set(id, errorMessage ?? description ?? '')
  return { scenario, failed }
}
