// `turnwire mcp` as a client starts it: a real process on a pipe, with the official client at the other end.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { command, folder } from './rig.ts'

const library = new URL('../../src/index.ts', import.meta.url).href

const config = `
import { defineConfig, scripted, tool } from '${library}'
console.log('a line that is no message')
const note = tool({
  name: 'note',
  description: 'Keeps a note.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => 'Kept: ' + text,
})
export default defineConfig({ agents: [{ name: 'desk', model: scripted([{ text: 'Hello.' }]), tools: [note] }] })
`

for (const mode of ['legacy', 'auto'] as const)
  test(`an agent over a pipe, to a client that negotiates as ${mode}`, async t => {
    const data = folder(t)
    const file = join(data, 'turnwire.config.ts')
    writeFileSync(file, config)
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
    )
    client.setRequestHandler('elicitation/create', () => ({
      action: 'accept',
      content: { decision: 'once' },
    }))
    const args = [command, 'mcp', '--config', file, '--data', join(data, 'data')]
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
    t.after(() => client.close())
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['note', 'ask_desk'],
    )
    const kept = await client.callTool({ name: 'note', arguments: { text: 'milk' } })
    assert.deepEqual(kept.content, [{ type: 'text', text: 'Kept: milk' }])
    const said = await client.callTool({ name: 'ask_desk', arguments: { message: 'Hi' } })
    assert.deepEqual(said.content, [{ type: 'text', text: 'Hello.' }])
  })
