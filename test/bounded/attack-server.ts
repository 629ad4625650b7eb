// The server that is attacked: SQLite in a folder, every HTTP wire, and a model that does what the last user message
// says. Run as `node attack-server.ts <folder>`; $ATTACK_CONFIG holds further settings as JSON. $ATTACK_VENDOR: a vendor's model
// in place of the scripted one.
import {
  gemini,
  geminiInteractions,
  resource,
  scripted,
  startServer,
  Turnwire,
  type TurnwireConfig,
  tool,
} from '../../src/index.ts'
import { readDemand } from '../../src/language/tool-choice.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import { announce } from '../announce.ts'
import type { AttackConfig, AttackStep } from './attack-rig.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder')
// The rig wrote it.
const given = JSON.parse(process.env['ATTACK_CONFIG'] ?? '{}') as AttackConfig

/** The steps that the last user message names. Any other text is answered with one word. */
function stepsIn(text: string): AttackStep[] {
  return text.startsWith('{"steps":') ? (JSON.parse(text) as { steps: AttackStep[] }).steps : []
}

function stepOf({ repeat = 1, fill, calls = [], text, fillText, ...step }: AttackStep): ScriptStep {
  const filled = calls.map(call =>
    fill === undefined ? call : { ...call, input: { text: 'x'.repeat(fill) } },
  )
  const repeated = Array.from({ length: repeat }, (_, n) =>
    filled.map(call => ({ ...call, input: { n, ...Object(call.input) } })),
  ).flat()
  const said = fillText === undefined ? text : 'y'.repeat(fillText)
  return { ...step, ...(said !== undefined && { text: said }), ...(calls.length > 0 && { calls: repeated }) }
}

const scriptedModel = scripted(({ history, choice, tools }) => {
  const asked = history.findLastIndex(entry => entry.role === 'user')
  const entry = history[asked]
  const said = entry?.role === 'user' ? entry.parts.map(part => ('text' in part ? part.text : '')) : []
  const at = history.slice(asked).filter(({ role }) => role === 'assistant').length
  const step = stepsIn(said.join(''))[at]
  if (step) return stepOf(step)
  // A model that has to call a tool calls one.
  const { forces, allows = () => true } = readDemand(choice, tools)
  const demanded = forces ? tools.find(({ name }) => allows(name)) : undefined
  return demanded ? { calls: [{ name: demanded.name, input: {} }] } : { text: 'Done.' }
})

/** The vendor's name, the model and the address, with spaces between them. */
const [vendor, vendorModel = '', baseUrl = ''] = process.env['ATTACK_VENDOR']?.split(' ') ?? []
const vendorOptions = { model: vendorModel, apiKey: 'k', baseUrl }
const model =
  vendor === 'gemini'
    ? gemini(vendorOptions)
    : vendor === 'gemini-interactions'
      ? geminiInteractions(vendorOptions)
      : scriptedModel

const size = { type: 'object', properties: { n: { type: 'integer' }, bytes: { type: 'integer' } } } as const
/** Offered on every wire, whatever its client chose. */
const trusted = { trust: 'trusted', exposed: false } as const
const fileOf = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64')

const tools = [
  tool({
    name: 'give',
    description: 'Gives so many bytes of text.',
    input: size,
    readOnly: true,
    ...trusted,
    outputLimit: 32_000_000,
    run: input => 'z'.repeat(Number(Object(input).bytes ?? 10)),
  }),
  tool({
    name: 'give_cut',
    description: 'Gives so many bytes of text, of which the model sees the ends.',
    input: size,
    readOnly: true,
    ...trusted,
    run: input => 'z'.repeat(Number(Object(input).bytes ?? 10)),
  }),
  tool({
    name: 'picture',
    description: 'Gives a picture of so many bytes.',
    input: size,
    readOnly: true,
    ...trusted,
    run: input => ({
      parts: [{ type: 'image', url: `data:image/png;base64,${fileOf(Number(Object(input).bytes ?? 10))}` }],
    }),
  }),
  tool({
    name: 'take',
    description: 'Takes a text and says how long it is.',
    input: { type: 'object', properties: { n: { type: 'integer' }, text: { type: 'string' } } },
    readOnly: true,
    ...trusted,
    run: input => `It has ${String(Object(input).text ?? '').length} characters.`,
  }),
  tool({
    name: 'wait',
    description: 'Waits so many milliseconds.',
    input: { type: 'object', properties: { n: { type: 'integer' }, ms: { type: 'integer' } } },
    readOnly: true,
    ...trusted,
    run: async (input, { signal }) => {
      await new Promise(resolve => {
        const timer = setTimeout(resolve, Number(Object(input).ms ?? 0))
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve(undefined)
        })
      })
      return 'It is over.'
    },
  }),
  tool({
    name: 'mail',
    description: process.env['ATTACK_MAIL'] ?? 'Is run only if a person allows it.',
    input: { type: 'object', properties: { n: { type: 'integer' }, to: { type: 'string' } } },
    trust: 'ask',
    run: () => 'It was sent.',
  }),
]

const notes = resource({
  uri: 'notes://{year}-{month}-{day}-{hour}/{part}.txt',
  name: 'Notes of an hour',
  read: ({ year, part }) => `${part} of ${year}`,
})

const config: TurnwireConfig = {
  agents: [
    {
      name: 'helper',
      model,
      tools,
      resources: [notes],
      responses: { serverTools: true },
      serveMcp: { tools: true, ask: true, resources: true },
    },
  ],
  data: folder,
  ...(given.policy && { policy: given.policy }),
  limits: { bytes: 1_000_000_000, ...given.limits },
  server: { log: 'info', ...given.server },
}
const turnwire = await Turnwire.open(config, { recover: false })
const { url } = await startServer(turnwire, { port: 0 })
announce(url)
process.once('SIGTERM', () => void turnwire.close().then(() => process.exit(0)))
