// Prompts and resources in `turnwire chat`: a prompt is a command, a resource goes with the next message.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { folder, turnwire } from './rig.ts'

const library = new URL('../../src/index.ts', import.meta.url).href
const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

const config = `
import { defineConfig, prompt, resource, scripted } from '${library}'
const review = prompt({
  name: 'review', description: 'Reviews a file.', arguments: [{ name: 'file', required: true }],
  get: ({ file }) => 'Review ' + file + ', please.',
})
const rules = resource({ uri: 'notes://rules', name: 'Rules', read: () => 'Be kind.' })
const model = scripted(({ history }) => ({
  text: 'Heard <' + history.at(-1).parts.map(({ text }) => text).join('|') + '>',
}))
export default defineConfig({
  agents: [{ name: 'desk', model, prompts: [review], resources: [rules] }],
  mcp: { all: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(everything)}, 'stdio'] } },
  data: 'memory',
})
`

test('prompts are listed and said, resources are listed and attached', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  const lines = [
    '/prompts',
    '/own:review file=a.ts',
    '/own:review',
    '/own:none',
    '/all:simple-prompt',
    '/resources',
    '/attach notes://rules',
    'Now this.',
    '/attach notes://none',
    '/quit',
  ]
  const { stdout, stderr } = turnwire(['chat'], { cwd, input: `${lines.join('\n')}\n` })
  const said = stdout + stderr
  assert.match(said, /\/own:review file=… {2}Reviews a file\./)
  assert.match(said, /\/all:simple-prompt/)
  assert.match(said, /Heard <Review a\.ts, please\.>/)
  assert.match(said, /The prompt needs file\. Write: \/own:review file=…/)
  assert.match(said, /There is no \/own:none\./)
  assert.match(said, /Heard <This is a simple prompt/)
  assert.match(said, /own {2}notes:\/\/rules {2}Rules/)
  assert.match(said, /notes:\/\/rules goes with the next message\./)
  assert.match(said, /Heard <Be kind\.\|Now this\.>/)
  assert.match(said, /No server lists notes:\/\/none/)
})
