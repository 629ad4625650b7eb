// `npm run test:installs`: packs this checkout and installs the tarball beside what applications have, each in a folder of its own, with
// npm's own rules for peers. Words narrow it: `npm run test:installs -- zod`. `--write` puts the table into the docs.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Packed, packed } from '../packed.ts'
import { type Case, cases } from './cases.ts'

const page = 'docs/operations/compatibility.md'
const marks = ['<!-- installs -->', '<!-- /installs -->'] as const

const words = process.argv.slice(2).filter(word => !word.startsWith('-'))
const chosen = cases.filter(
  ({ group, name }) => words.length === 0 || words.some(word => `${group} ${name}`.includes(word)),
)

type Result = { case: Case; failure?: string }

/** By packages: the folder that has them and the tarball. Cases that need the same share it. */
const installed = new Map<string, string>()

function runCase(each: Case, { tarball, home }: Packed): Result {
  const wanted = each.packages.join(' ')
  const known = installed.get(wanted)
  const cwd = known ?? mkdtempSync(join(home, 'app-'))
  if (known === undefined) {
    writeFileSync(join(cwd, 'package.json'), '{ "name": "app", "private": true, "type": "module" }\n')
    const install = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
    // In two steps, as in an application that is there before.
    const steps = [...(wanted === '' ? [] : [[...install, ...each.packages]]), [...install, tarball]]
    const failure = runSteps(steps, cwd)
    if (failure !== undefined) return { case: each, failure }
    installed.set(wanted, cwd)
  }
  for (const [name, text] of Object.entries(each.files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  const failure = runSteps(each.run, cwd)
  return { case: each, ...(failure !== undefined && { failure }) }
}

function runSteps(steps: readonly (readonly string[])[], cwd: string): string | undefined {
  for (const step of steps) {
    const failure = runStep(step, cwd)
    if (failure !== undefined) return failure
  }
  return undefined
}

function runStep([program = '', ...args]: readonly string[], cwd: string): string | undefined {
  const env = {
    ...process.env,
    PATH: `${join(cwd, 'node_modules/.bin')}:${dirname(process.execPath)}:${process.env['PATH']}`,
  }
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 300_000,
  })
  if (status === 0 && (program === 'npm' || args[0] === 'build' || /(^|\n)ok\n$/.test(stdout)))
    return undefined
  return `${[program, ...args].join(' ')}\n${stdout}${stderr}`.trim().slice(-3_000)
}

/** Puts results into the table of the page. Rows of cases that were not run stay as they are. */
function write(results: readonly Result[]): void {
  const [before = '', rest = ''] = readFileSync(page, 'utf8').split(marks[0])
  const [old = '', after = ''] = rest.split(marks[1])
  const rows = cases.flatMap(each => {
    const start = `| ${each.group} | ${each.name} |`
    const result = results.find(({ case: ran }) => ran === each)
    if (result) return [`${start} ${result.failure === undefined ? 'works' : 'does not work'} |`]
    return old.split('\n').filter(line => line.startsWith(start))
  })
  const table = ['| beside it | version | |', '|---|---|---|', ...rows].join('\n')
  writeFileSync(page, `${before}${marks[0]}\n\n${table}\n\n${marks[1]}${after}`)
}

const made = packed()
const results: Result[] = []
try {
  for (const each of chosen) {
    const result = runCase(each, made)
    results.push(result)
    if (process.argv.includes('--write')) write(results)
    console.log(`${result.failure === undefined ? 'ok    ' : 'FAILED'} ${each.group}: ${each.name}`)
    if (result.failure !== undefined) console.log(result.failure.replace(/^/gm, '    '))
  }
} finally {
  rmSync(made.home, { recursive: true, force: true, maxRetries: 3 })
}
const broken = results.filter(({ case: { tried }, failure }) => failure !== undefined && !tried)
process.exitCode = broken.length > 0 ? 1 : 0
