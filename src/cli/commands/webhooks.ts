// The webhooks of a configuration: where they go, what became of their messages, and the secret that signs them.
import type { TurnwireConfig } from '../../config/config.ts'
import { isShared } from '../../data/data-place.ts'
import { createVault, vaultKey } from '../../data/vault.ts'
import { clusterSettings } from '../../engines/cluster/settings.ts'
import type { WebhookDelivery, WebhookInfo } from '../../language/webhooks.ts'
import { printable } from '../../lib/text/index.ts'
import { plural } from '../../lib/text/plural.ts'
import { visitSessions } from '../../library/visit.ts'
import { endpointSecret, WebhookDesk } from '../../webhooks/index.ts'
import { type CliCommand, knownAction, self, UsageError, type Values } from '../command.ts'
import { configOption, dataFolder, dataOption, sessionPlace, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'webhooks',
  usage: 'list | deliveries <name> | resend <name> <message> | enable <name> | secret <name>',
  about: `Shows where programs outside are told, and what became of the messages of the last week, newest first. "resend" sends
one once more, with the same id. "enable" takes back that an endpoint answered 410. "secret" prints what signs the messages of an
endpoint, for its receiver: anyone who has it can write such messages. All of this works beside a server that is running.`,
  options: { data: dataOption, config: configOption },
  words: 3,
  async run({ values, words: [action = 'list', name, message] }) {
    const act = knownAction('webhooks', actions, action)
    if (action !== 'list' && name === undefined)
      throw new UsageError(`Say which: turnwire webhooks ${action} <name>`)
    if (action === 'resend' && message === undefined)
      throw new UsageError('Say which message: turnwire webhooks resend <name> <message>')
    process.stdout.write(await act(values, name ?? '', message ?? ''))
    return 0
  },
}

type Action = (values: Values, name: string, message: string) => Promise<string>

const actions: Record<'list' | 'deliveries' | 'resend' | 'enable' | 'secret', Action> = {
  list: values => atDesk(values, async desk => endpointLines(await desk.list())),
  deliveries: (values, name) =>
    atDesk(values, async desk => deliveryLines((await desk.deliveries(name, { limit: 100 })).deliveries)),
  resend: (values, name, message) =>
    atDesk(values, async desk => {
      await desk.resend(name, message)
      return `It is sent again by the server, within ten seconds.\n`
    }),
  enable: (values, name) =>
    atDesk(values, async desk =>
      (await desk.enable(name)) ? `"${name}" gets messages again.\n` : `"${name}" was not disabled.\n`,
    ),
  secret: async (values, name) => {
    const { config } = await setUp(values)
    return `${endpointSecret(config.webhooks ?? {}, name, await signer(values, config))}\n`
  },
}

async function atDesk(values: Values, act: (desk: WebhookDesk) => Promise<string>): Promise<string> {
  const { config } = await setUp(values)
  const place = await sessionPlace(values)
  return visitSessions(place, undefined, (_, { records }) =>
    act(new WebhookDesk(config.webhooks ?? {}, records, Date.now)),
  )
}

/** The vault of the server. */
async function signer(values: Values, config: TurnwireConfig): Promise<(text: string) => string> {
  const shared = isShared(config.data) ? clusterSettings(config.server?.cluster).secret : undefined
  const vault = createVault(vaultKey(await dataFolder(values), undefined, shared))
  return text => vault.sign(text)
}

function endpointLines(endpoints: readonly WebhookInfo[]): string {
  if (endpoints.length === 0) return 'The configuration has no webhooks.\n'
  const lines = endpoints.map(({ name, url, events = ['all messages'], approver, disabled }) => {
    const facts = [...events, ...(approver === undefined ? [] : [`links for ${approver}`])].join(', ')
    const state = disabled
      ? `\n    disabled: ${disabled.reason} Enable it with: ${self} webhooks enable ${name}`
      : ''
    return `${name}  ${printable(url, 200)}  ${printable(facts, 400)}${state}\n`
  })
  return lines.join('')
}

function deliveryLines(deliveries: readonly WebhookDelivery[]): string {
  if (deliveries.length === 0) return 'There are no messages.\n'
  const lines = deliveries.map(({ id, type, at, state, attempts, tries, nextAt }) => {
    const last = tries.at(-1)
    const facts = [
      plural(attempts, 'attempt'),
      ...(last?.status === undefined ? [] : [`answered ${last.status}`]),
      ...(last?.error === undefined ? [] : [last.error]),
      ...(state === 'waiting' && nextAt !== undefined ? [`next ${new Date(nextAt).toISOString()}`] : []),
    ]
    return `${new Date(at).toISOString()}  ${state}  ${type}  ${id}  ${printable(facts.join(', '), 400)}\n`
  })
  return lines.join('')
}
