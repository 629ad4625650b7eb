// Agents whose calls show what a page has to bear: an agent that works for another and asks, a terminal that goes on when a person
// says so, an agent whose words, names and arguments are long.
import { agentTool, defineConfig, scripted, tool } from '../../src/index.ts'

export const longWord = 'Donaudampfschifffahrtsgesellschaft'.repeat(6)
export const longText = `${'All the words of a very long message that somebody wrote in one go. '.repeat(12)}${longWord}`

const mail = tool({
  name: 'send_mail',
  title: 'Send a mail.',
  description: 'Sends an e-mail.',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, body: { type: 'string' } },
    required: ['to', 'body'],
  },
  kind: 'execute',
  destructive: true,
  run: () => 'Sent.',
})

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `\u001b[32m✔\u001b[0m test ${from + at}\n`).join('')

const build = tool({
  name: 'build',
  title: 'Build it',
  description: 'Prints 60 lines, asks, prints 60 more.',
  input: { type: 'object', properties: { command: { type: 'string' } } },
  kind: 'execute',
  trust: 'trusted',
  async run({ command }, context) {
    const show = (output: string): void =>
      context.report({
        terminals: [
          { id: 't1', command: typeof command === 'string' ? command : 'make', cwd: '/srv', output },
        ],
      })
    let shown = 0
    for (const upTo of [60, 120, 180]) {
      shown = upTo
      show(lines(0, shown))
      await context.ask({ message: `Go on after ${shown}?`, schema: { type: 'object', properties: {} } })
    }
    return `${shown} tests passed.`
  },
})

const wide = tool({
  name: 'change_the_whole_configuration_of_the_shop_in_every_region',
  title: 'Change the whole configuration of the shop in every region of the world at once',
  description: longText,
  input: {
    type: 'object',
    properties: {
      path: { type: 'string', description: longText },
      values: { type: 'object' },
      a_member_whose_name_is_longer_than_what_it_says: { type: 'string' },
    },
  },
  run: () => longText,
})

const table = `| ${Array.from({ length: 12 }, (_, at) => `column number ${at}`).join(' | ')} |
|${'---|'.repeat(12)}
| ${Array.from({ length: 12 }, (_, at) => `a value of ${at}`).join(' | ')} |`

export default defineConfig({
  agents: [
    {
      name: 'manager',
      title: 'Manager',
      model: scripted(
        [
          { calls: [{ name: 'ask_courier', input: { task: 'Tell Ana that the parcel is late' } }] },
          { text: 'The courier has told her.' },
        ],
        { whenOver: 'repeat-last' },
      ),
      tools: [agentTool('courier', { description: 'Brings messages.' })],
    },
    {
      name: 'courier',
      model: scripted(
        [
          { calls: [{ name: 'send_mail', input: { to: 'ana@example.org', body: 'It is late.' } }] },
          { text: 'Told.' },
        ],
        { whenOver: 'repeat-last' },
      ),
      tools: [mail],
    },
    {
      name: 'builder',
      model: scripted(
        [
          {
            calls: [{ name: 'build', input: { command: 'make test' } }],
            usage: { input: 20, output: 40, cost: 0.25 },
          },
          { text: 'It is built.', usage: { input: 80, output: 10, cost: 0.5 } },
        ],
        { whenOver: 'repeat-last', id: 'priced-1' },
      ),
      tools: [build],
    },
    {
      name: 'an_agent_with_a_name_that_is_much_longer_than_a_column',
      title: 'An agent with a title that is much longer than any column of any list could be',
      model: scripted(
        [
          {
            text: `# ${longText.slice(0, 200)}\n\n${longText}\n\n${table}\n\n\`\`\`ts\nexport const ${longWord} = '${longText}'\n\`\`\``,
            thinking: longText,
            calls: [
              {
                name: 'change_the_whole_configuration_of_the_shop_in_every_region',
                input: {
                  path: `/srv/${longWord}/${longWord}.json`,
                  values: { deeply: { nested: { member: longText } }, list: Array(30).fill(longWord) },
                  a_member_whose_name_is_longer_than_what_it_says: 'short',
                },
              },
            ],
          },
          { text: 'Done.' },
        ],
        {
          whenOver: 'repeat-last',
          id: 'a-vendor/with-a-model-whose-name-never-seems-to-end-2026-11-19-preview',
        },
      ),
      tools: [wide],
    },
  ],
})
