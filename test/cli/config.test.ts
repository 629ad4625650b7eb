// Mistakes in a configuration: each with its file, its key and its remedy, and exit code 1.
import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, turnwire } from './rig.ts'

/** `beside`: a file that the configuration imports. */
type Case = { name: string; config: string; beside?: string; says: (file: string) => string }

const head = `import { defineConfig, rehearsal, tool } from 'turnwire'\n`
const agent = `{ name: 'a', model: rehearsal() }`

const cases: Case[] = [
  {
    name: 'no default export',
    config: 'export const config = {}',
    says: file => `${file} has no default export. End it with: export default defineConfig({ … })`,
  },
  {
    name: 'not an object',
    config: 'export default 17',
    says: file =>
      `${file} cannot be used:\n  (config): export default defineConfig({ … }) is missing or not an object.`,
  },
  {
    name: 'everything wrong at once',
    config: `${head}export default { agent: [], agents: [], server: { port: 70000, prot: 1, graceMs: 0 }, data: 3 }`,
    says: file => `${file} cannot be used:
  agent: there is no such setting. Did you mean "agents"?
  agents: must list at least one agent.
  server.prot: there is no such setting. Did you mean "port"?
  server.port: must be a whole number from 0 (any free port) to 65535.
  server.graceMs: must be a whole number above 0.
  data: must be a folder, "memory", a postgres:// address, or a store.`,
  },
  {
    name: 'an agent without a model, and one of the same name',
    config: `${head}export default defineConfig({ agents: [{ name: 'a' }, ${agent}, { name: 'b c', model: 'gpt' }] })`,
    says: file => `${file} cannot be used:
  agents[0].model: must be a model or the name of one: try rehearsal(), which needs no key.
  agents[1].name: "a" is taken by an agent before it.
  agents[2].name: must be 1 to 64 letters, digits, ".", "_" or "-".
  agents[2].model: there is no model named "gpt" in models. A vendor's model is made by its provider, such as anthropic({ model }).`,
  },
  {
    name: 'models under aliases and patterns',
    config: `${head}export default defineConfig({ models: { main: rehearsal(), '*': 'main', small: 'mian', again: 'small', odd: {} }, agents: [{ name: 'a', model: '*' }] })`,
    says: file => `${file} cannot be used:
  models.small: "mian" is not the name of a model in models. An alias names an entry that is itself a model. There are: main, odd.
  models.again: "small" is not the name of a model in models. An alias names an entry that is itself a model. There are: main, odd.
  models.odd: is not a model: use scripted(…), rehearsal(), or a provider; or the name of another entry.
  agents[0].model: there is no model named "*" in models (there are: main, small, again, odd). A vendor's model is made by its provider, such as anthropic({ model }).`,
  },
  {
    name: 'MCP servers with settings that are wrong or in the wrong place',
    config: `${head}export default defineConfig({ mcp: { a: { command: 'x y' }, b: { url: 'http://h/', env: {}, type: 'stdio' }, c: { command: 'x', headers: {}, trust: 'yes' }, d: { command: 'x', trustd: 1 }, e__f: { url: 'ftp://h' }, g: 'npx' }, agents: [{ ...${agent}, mcpServers: ['z'] }] })`,
    says: file => `${file} cannot be used:
  mcp.a: The command of the MCP server "a" is one program, not a command line: put what follows it into args.
  mcp.b.env: is for a server with a command; this one has a url.
  mcp.b.type: must be "http" for a server with a url, or be left out.
  mcp.c.headers: is for a server with a url; this one has a command.
  mcp.c.trust: must be "trusted", "ask" or "deny".
  mcp.d.trustd: there is no such setting. Did you mean "trust"?
  mcp.e__f: The name of the MCP server "e__f" must not end in "_" or have "__" in it: that stands between a server and its tool.
  mcp.g: must be { command, args } for a program, or { url } for a server elsewhere.
  agents[0].mcpServers: there is no server "z" in mcp. There are: a, b, c, d, e__f, g.`,
  },
  {
    name: 'tools and options',
    config: `${head}export default defineConfig({ agents: [{ ...${agent}, tools: [{}], options: [{ name: 'o', type: 'select', default: 'x', options: ['y'] }] }] })`,
    says: file => `${file} cannot be used:
  agents[0].tools[0]: is not a tool: make it with tool({ name, description, input, run }).
  agents[0].options[0].options: must list the choices, the default among them.`,
  },
  {
    name: 'options that are no list, of one name, or misspelt',
    config: `${head}const o = { name: 'o', type: 'text', default: '' }
export default defineConfig({ agents: [{ ...${agent}, options: {} }, { ...${agent}, name: 'b', options: [o, { ...o, titel: 'O' }] }] })`,
    says: file => `${file} cannot be used:
  agents[0].options: must be a list.
  agents[1].options[1].titel: there is no such setting. Did you mean "title"?
  agents[1].options[1].name: "o" is the name of an option before it.`,
  },
  {
    name: 'a tool that cannot be made',
    config: `${head}export default defineConfig({ agents: [{ ...${agent}, tools: [tool({ name: 'x', description: 'y', input: {} })] }] })`,
    says: file => `${file}:2 cannot be loaded: The tool "x" needs "run": the function that carries it out.`,
  },
  {
    name: 'what tool() takes, but without tool()',
    config: `${head}export default defineConfig({ agents: [{ ...${agent}, tools: [{ name: 'x', description: 'y', input: {}, run() {} }] }] })`,
    says: file => `${file} cannot be used:
  agents[0].tools[0]: is not a tool: make it with tool({ name, description, input, run }).`,
  },
  {
    name: 'a slip of the pen',
    config: `${head}\nexport default defineConfig({ agents: [ `,
    says: file => `${file}:3 cannot be loaded: Expression expected`,
  },
  {
    name: 'a tool that cannot be made in a file that it imports',
    config: `${head}import './my tools.ts'\nexport default defineConfig({ agents: [${agent}] })`,
    beside: `import { tool } from 'turnwire'\n\ntool({ name: 'x' })`,
    says: file =>
      `${join(dirname(file), 'my tools.ts')}:3 cannot be loaded: The tool "x" needs a description: it is what the model reads to decide when to call it.`,
  },
  {
    name: 'a slip of the pen in a file that it imports',
    config: `${head}import './my tools.ts'\nexport default defineConfig({ agents: [${agent}] })`,
    beside: `import { tool } from 'turnwire'\nexport const a = (`,
    says: file => `${join(dirname(file), 'my tools.ts')}:2 cannot be loaded: Expression expected`,
  },
  {
    name: 'a word that is not there',
    config: `${head}import * as z from 'zod'\nexport default defineConfig({ agents: [z.object, nowhere] })`,
    says: file => `${file}:3 cannot be loaded: nowhere is not defined`,
  },
  {
    name: 'a promise',
    config: `${head}export default Promise.resolve({ agents: [${agent}] })`,
    says: file => `${file} cannot be used:
  (config): is a promise. Export the object itself: the file may use await at its top level.`,
  },
  {
    name: 'a provider without its model',
    config: `import { anthropic } from 'turnwire'\nexport default { agents: [{ name: 'a', model: anthropic('claude') }] }`,
    says: file =>
      `${file}:2 cannot be loaded: The provider "anthropic" needs the name of a model, in an object: { model: "…" }.`,
  },
  {
    name: 'addresses where names are meant, and the other way round',
    config: `${head}export default { agents: [${agent}], data: 'mysql://db/x', server: { hosts: ['https://app.example'], origins: ['https://app.example/'] } }`,
    says: file => `${file} cannot be used:
  server.hosts: must be a list of names such as "app.example" or "app.example:8443", without https:// before them.
  server.origins: must be a list such as ["https://app.example"]: https:// and the name, no slash at the end; or ["*"].
  data: must be a folder, "memory", a postgres:// address, or a store.`,
  },
  {
    name: 'rules and sets that do not exist',
    config: `${head}export default { agents: [{ ...${agent}, rules: [{ tool: 'x', then: 'block' }], images: { https: false } }], policy: { redact: ['secret'] } }`,
    says: file => `${file} cannot be used:
  agents[0].images.https: there is no such setting. Did you mean "http"?
  agents[0].rules[0].then: must be "allow", "ask" or "deny".
  policy.redact[0]: names the unknown set "secret". Known are: secrets, private-keys, jwts, bearer-tokens, api-keys, aws-keys.`,
  },
  {
    name: 'a limit that is none',
    config: `${head}export default defineConfig({ agents: [${agent}], limits: { steps: 0 } })`,
    says: file => `${file} cannot be used:
  limits: The limit "steps" must be a whole number from 1 up, not 0. To allow more, set a larger number; it cannot be switched off.`,
  },
  {
    name: 'a policy that would not be read',
    config: `${head}export default defineConfig({ agents: [{ ...${agent}, rules: {}, system: 5, choice: 'sometimes' }], policy: { rule: [] }, server: { host: 5, log: 'loud', keys: [{ name: 'a', sha256: 'ab12' }] } })`,
    says: file => `${file} cannot be used:
  agents[0].system: must be a string, not number.
  agents[0].rules: must be a list of rules.
  agents[0].choice: must be "auto", "none", "required", { tool } or { allowed, mode }.
  policy.rule: there is no such setting. Did you mean "rules"?
  server.host: must be a string, not number.
  server.log: must be one of: debug, info, warn, error, silent.
  server.keys: must be a list of { name, sha256 }, the hash in base64url as \`turnwire keys add\` keeps it.`,
  },
]

describe('a configuration that cannot be used', () => {
  for (const { name, config, beside, says } of cases)
    test(name, t => {
      const cwd = realpathSync(folder(t))
      const file = join(cwd, 'turnwire.config.mts')
      writeFileSync(file, config)
      if (beside !== undefined) writeFileSync(join(cwd, 'my tools.ts'), beside)
      const { code, stdout, stderr } = turnwire(['serve'], { cwd, env: { PORT: '0' } })
      assert.deepEqual([stderr, stdout, code], [`${says(file)}\n`, '', 1])
    })

  test('a folder means the configuration file in it, and a folder without one is an error', t => {
    const cwd = realpathSync(folder(t))
    mkdirSync(join(cwd, 'agents'))
    const { code, stderr } = turnwire(['serve', '-c', 'agents'], { cwd })
    assert.deepEqual(
      [code, stderr],
      [1, `There is no turnwire.config.ts in ${join(cwd, 'agents')}. Make one with: turnwire init agents\n`],
    )
    writeFileSync(join(cwd, 'agents', 'turnwire.config.mts'), 'export default 17')
    assert.match(
      turnwire(['serve', '-c', 'agents'], { cwd }).stderr,
      /agents\/turnwire\.config\.mts cannot be used/,
    )
  })

  test('a configuration that does not exist', t => {
    const cwd = realpathSync(folder(t))
    const { code, stderr } = turnwire(['serve', '--config', 'nope.ts'], { cwd })
    assert.deepEqual(
      [code, stderr],
      [1, `There is no file ${join(cwd, 'nope.ts')}. Make one with: turnwire init\n`],
    )
  })
})
