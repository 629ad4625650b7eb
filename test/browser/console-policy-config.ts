// An agent under rules of every kind, with a draft of other rules beside them; and one without any.
import { defineConfig, scripted, tool } from '../../src/index.ts'

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, body: { type: 'string' } },
    required: ['to', 'body'],
  },
  kind: 'other',
  trust: 'ask',
  run: () => 'Sent.',
})
const transfer = tool({
  name: 'transfer_money',
  title: 'Transfer money',
  description: 'Transfers an amount.',
  input: {
    type: 'object',
    properties: { amount: { type: 'number' }, to: { type: 'string' } },
    required: ['amount', 'to'],
  },
  trust: 'trusted',
  run: () => 'Transferred.',
})
const look = tool({
  name: 'look_up',
  description: 'Looks something up.',
  input: { type: 'object', properties: { query: { type: 'string' } } },
  kind: 'search',
  readOnly: true,
  trust: 'trusted',
  run: () => 'Found.',
})
const wipe = tool({
  name: 'wipe_disk',
  description: 'Removes everything.',
  input: { type: 'object', properties: {} },
  kind: 'delete',
  destructive: true,
  run: () => 'Gone.',
})

const model = () =>
  scripted(
    [
      {
        calls: [
          { name: 'look_up', input: { query: 'prices' } },
          { name: 'transfer_money', input: { amount: 50_000, to: 'Ana' } },
          { name: 'wipe_disk', input: {} },
        ],
      },
      { text: 'Done.' },
    ],
    { whenOver: 'repeat-last' },
  )

export default defineConfig({
  receipts: true,
  agents: [
    { name: 'bank', title: 'Bank', model: model(), tools: [sendMail, transfer, look, wipe] },
    { name: 'free', title: 'Free', model: model(), tools: [look], rules: [] },
  ],
  policy: {
    rules: [
      { name: 'never-wipe', agent: 'bank', tool: 'wipe_*', then: 'deny', reason: 'Nobody wipes disks here.' },
      {
        name: 'big',
        agent: 'bank',
        tool: 'transfer_*',
        args: { amount: { above: 10_000 } },
        then: 'deny',
        reason: 'Amounts above 10,000 are not transferred here.',
      },
      {
        name: 'colleagues',
        agent: 'bank',
        tool: 'send_mail',
        args: { to: '*@example.org', body: '*' },
        then: 'allow',
      },
      {
        name: 'odd-hours',
        agent: 'bank',
        tool: ['transfer_*', 'send_*'],
        when: ({ input }) => typeof input === 'object' && input !== null && 'urgent' in input,
        then: 'ask',
      },
    ],
    shadow: [
      { name: 'all-transfers', tool: 'transfer_*', then: 'ask', reason: 'A person looks at each transfer.' },
    ],
  },
})
