// Writes a configuration to start from. On a terminal it asks three questions at most; flags answer them beforehand, and
// without a terminal the rest are defaults. It overwrites nothing.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { ownPackage } from '../../data/version.ts'
import { wordsOf } from '../../language/errors.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { type AppTemplate, withApp } from '../app-templates/app-template.ts'
import { nextApp } from '../app-templates/next.ts'
import { reactApp } from '../app-templates/react.ts'
import { Terminal } from '../chat/terminal.ts'
import {
  type CliCommand,
  knownWord,
  self,
  shellWord,
  suggestWord,
  textValue,
  UsageError,
  type Values,
} from '../command.ts'
import { configTemplate, type InitChoice, type InitVendor, initVendors } from '../init-template.ts'
import { styles, wantsColour } from '../style.ts'

const vendorNames = Object.keys(initVendors)
const apps: Readonly<Record<string, AppTemplate>> = { react: reactApp, next: nextApp }
const appNames = Object.keys(apps)

export const command: CliCommand = {
  name: 'init',
  usage: '[folder] [--vendor <name>] [--model <name>] [--agent <name>] [--app react | next] [--yes]',
  about: `Writes turnwire.config.ts into the folder (default: this one): one agent, two tools, a policy, all explained. On a
terminal it asks what the options do not say; with --yes, or without a terminal, it takes the defaults.
With --app it also writes a web application that talks to the agent; npm start runs both.
Vendors: ${vendorNames.join(', ')}. The default, rehearsal, needs no key.`,
  options: {
    vendor: { type: 'string', value: '<name>', help: 'Whose model. Default: rehearsal' },
    model: { type: 'string', value: '<name>', help: 'The vendor\u2019s name of the model' },
    agent: { type: 'string', value: '<name>', help: 'The name of the agent. Default: clerk' },
    app: {
      type: 'string',
      value: 'react | next',
      help: 'Also write an application: React with Vite, or Next.js',
    },
    yes: { type: 'boolean', short: 'y', help: 'Ask nothing: take the defaults' },
  },
  words: 1,
  async run({ values, words: [folder = '.'] }) {
    const file = join(resolve(folder), 'turnwire.config.ts')
    if (existsSync(file))
      throw new UsageError(
        `${file} exists and is left as it is. Choose another folder: turnwire init <folder>`,
      )
    const app = textValue(values, 'app')
    const template = app === undefined ? undefined : readApp(app)
    const manifest = template === undefined ? {} : readManifest(resolve(folder))
    const choice = await choose(values)
    if (choice === undefined) return 130
    makeFolder(resolve(folder))
    // `wx`: a file that has appeared meanwhile is left as it is.
    writeFileSync(file, configTemplate(choice), { flag: 'wx' })
    const written = [file, ...ignoreData(resolve(folder))]
    if (template !== undefined) written.push(...writeApp(resolve(folder), choice.agent, manifest, template))
    const steps = template === undefined ? nextSteps : appSteps
    process.stdout.write(steps(folder, written, choice))
    return 0
  },
}

function readApp(name: string): AppTemplate {
  const problem = `There is no application "${printable(name, 40)}" to write.`
  return apps[knownWord(name, appNames, problem)]!
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new UsageError(
      `${folder} cannot be made: ${wordsOf(error)}. Choose another folder: turnwire init <folder>`,
    )
  }
}

/** Sessions and the key that seals secrets do not belong into a repository. An existing file is left as it is. */
function ignoreData(folder: string): string[] {
  const file = join(folder, '.gitignore')
  if (existsSync(file)) return []
  writeFileSync(file, 'node_modules/\n.turnwire/\n.env\n', { flag: 'wx' })
  return [file]
}

/** Read before anything is written, so that one that cannot be used changes nothing. */
function readManifest(folder: string): object {
  const file = join(folder, 'package.json')
  // The name of a package has no capitals and no blanks.
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
  if (!existsSync(file)) return { name: name || 'my-agent', private: true }
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isJsonObject(found)) return found
  } catch {
    // Refused below.
  }
  throw new UsageError(
    `${file} is not a JSON object, so nothing was written. Repair it, or choose another folder.`,
  )
}

/** A file that is there stays as it is, except package.json, to which is added what the application needs. */
function writeApp(folder: string, agent: string, manifest: object, app: AppTemplate): string[] {
  const written: string[] = []
  for (const [path, text] of Object.entries(app.files(agent))) {
    const file = join(folder, path)
    if (existsSync(file)) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { flag: 'wx' })
    written.push(file)
  }
  const file = join(folder, 'package.json')
  writeFileSync(file, `${JSON.stringify(withApp(manifest, app, ownPackage()), null, 2)}\n`)
  return [...written, file]
}

function appSteps(folder: string, written: readonly string[], choice: InitChoice): string {
  const { bold } = styles(wantsColour(process.stdout))
  return `Wrote ${joinNames(written, ', ')}.

${keyLine(choice)}  ${bold(`${enterLine(folder)}npm start`)}   installs what is missing, serves the agent and opens the page on a free port
`
}

// ---- the questions ------------------------------------------------------------------------------------------------

/** Undefined: Ctrl-C. */
async function choose(values: Values): Promise<InitChoice | undefined> {
  const given = { vendor: textValue(values, 'vendor'), model: textValue(values, 'model') }
  if (given.vendor !== undefined) readInitVendor(given.vendor)
  const agent = textValue(values, 'agent')
  if (agent !== undefined) checkAgent(agent)
  const asks = values['yes'] !== true && process.stdin.isTTY === true && process.stdout.isTTY === true
  if (!asks) return readChoice(given.vendor, given.model, agent)
  const terminal = new Terminal()
  try {
    const vendor = given.vendor ?? (await askVendor(terminal))
    if (vendor === undefined) return undefined
    const { model: usual } = readInitVendor(vendor)
    const model = given.model ?? (usual === undefined ? '' : await askText(terminal, 'Which model?', usual))
    if (model === undefined) return undefined
    const name = agent ?? (await askText(terminal, 'What is the agent called?', defaultAgent, agentProblem))
    return name === undefined ? undefined : readChoice(vendor, model, name)
  } finally {
    terminal.close()
  }
}

const defaultAgent = 'clerk'

function readChoice(vendor = 'rehearsal', model = '', agent = defaultAgent): InitChoice {
  const { model: usual } = readInitVendor(vendor)
  if (usual === undefined && model !== '')
    throw new UsageError('The rehearsal model has no names: leave out --model, or name a --vendor.')
  return { vendor, model: model || (usual ?? ''), agent }
}

async function askVendor(terminal: Terminal): Promise<string | undefined> {
  const { dim } = styles(wantsColour(process.stdout))
  const rows = Object.entries(initVendors)
  for (const [index, [name, { about }]] of rows.entries())
    terminal.write(`  ${index + 1}  ${name.padEnd(10)}  ${dim(about)}\n`)
  return askText(terminal, 'Whose model? A number or a name', 'rehearsal', vendorProblem, answer =>
    /^\d$/.test(answer) ? rows[Number(answer) - 1]?.[0] : answer,
  )
}

/** Asks again until the answer can be used. Enter takes the default. */
async function askText(
  terminal: Terminal,
  question: string,
  usual: string,
  problem: (answer: string) => string | undefined = () => undefined,
  meant: (answer: string) => string | undefined = answer => answer,
): Promise<string | undefined> {
  const { bold, dim, red } = styles(wantsColour(process.stdout))
  for (;;) {
    const line = await terminal.ask(`${bold(question)} ${dim(`(${usual})`)} › `)
    if (line === undefined) return undefined
    const answer = line.trim() === '' ? usual : (meant(line.trim()) ?? line.trim())
    const words = problem(answer)
    if (words === undefined) return answer
    terminal.write(`${red(words)}\n`)
  }
}

function vendorProblem(name: string): string | undefined {
  if (Object.hasOwn(initVendors, name)) return undefined
  return `There is no vendor "${printable(name, 40)}" here. ${suggestWord(name, vendorNames)}`
}

function readInitVendor(name: string): InitVendor {
  const problem = vendorProblem(name)
  if (problem !== undefined) throw new UsageError(problem)
  return initVendors[name]!
}

function agentProblem(name: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(name)
    ? undefined
    : 'The name of an agent has 1 to 64 letters, digits, ".", "_" or "-".'
}

function checkAgent(name: string): void {
  const problem = agentProblem(name)
  if (problem !== undefined) throw new UsageError(problem)
}

// ---- what comes next ----------------------------------------------------------------------------------------------

function nextSteps(folder: string, written: readonly string[], choice: InitChoice): string {
  const { bold } = styles(wantsColour(process.stdout))
  const enter = enterLine(folder)
  const end =
    choice.vendor === 'rehearsal'
      ? 'It runs without a key, on a model that has no weights. Put a real one in its place when you like: the file says where.\n'
      : ''
  return `Wrote ${joinNames(written, ' and ')}.

${keyLine(choice)}  ${bold(`${enter}${self} chat`)}    talk to it in the terminal
  ${bold(`${enter}${self} serve`)}   serve it over HTTP, with a console for the browser
  ${bold(`${enter}${self} dev`)}     the same, and start again when you change a file
${end === '' ? '' : `\n${end}`}`
}

function joinNames(written: readonly string[], between: string): string {
  return written.map(file => relative(process.cwd(), file) || file).join(between)
}

function enterLine(folder: string): string {
  return resolve(folder) === process.cwd() ? '' : `cd ${shellWord(folder)} && `
}

/** Sets the key that the vendor needs. Empty: it needs none, or it is set. */
function keyLine({ vendor }: InitChoice): string {
  const { bold } = styles(wantsColour(process.stdout))
  const { variable } = readInitVendor(vendor)
  return variable === undefined || process.env[variable] ? '' : `  ${bold(setLine(variable))}\n`
}

/** As the usual shell of this system takes it. */
function setLine(variable: string): string {
  return process.platform === 'win32' ? `$env:${variable} = "<your key>"` : `export ${variable}=<your key>`
}
