// Attaches an agent of this machine to a relay, until a signal stops it. Nothing listens here: the machine connects out.
import { existsSync, readFileSync, unwatchFile, watchFile, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder } from '../../data/private-folder.ts'
import { wordsOf } from '../../language/errors.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { createLog } from '../../log.ts'
import type { LocalAgent } from '../../relay/owner/local-agent.ts'
import type { AttachStatus } from '../../relay/owner/status.ts'
import { type CliCommand, columns, self, textValue, UsageError, type Values } from '../command.ts'
import { guardProcess, untilSignalled } from '../guard-process.ts'
import { agentOption, configOption, dataFolder, dataOption, setUp } from '../setup.ts'

export const command: CliCommand = {
  name: 'attach',
  usage: '<server> [--agent <name> | --url <address>] [--prices <in>/<out>] [--status] [--data <folder>]',
  about: `Serves requests of a relay with an agent of this machine. The machine connects out and listens nowhere. Requests
reach the agent's model and nothing else: no tools, no files, no sessions. The tools of a request are its client's.

The first use makes a wallet, whose key is in <data>/attach/wallet.key. Who has that file owns the wallet.
With --url a local server of the Responses API answers in place of an agent; its key is read from $TURNWIRE_ATTACH_TOKEN.

--status shows what the machine did and earned. --prices beside a running machine changes its prices at once.`,
  options: {
    agent: agentOption,
    url: {
      type: 'string',
      value: '<address>',
      help: 'A local /v1/responses that answers instead of an agent',
    },
    nested: { type: 'boolean', help: 'With --url: it takes tools nested under "function", as OpenClaw does' },
    model: { type: 'string', value: '<name>', help: 'With --url: the model that it is asked for' },
    prices: {
      type: 'string',
      value: '<in>/<out>',
      help: "Per token, in the asset's smallest unit. Default: those of the last time, else 0/0",
    },
    name: { type: 'string', value: '<text>', help: 'How the relay lists the agent' },
    description: { type: 'string', value: '<text>', help: 'What the relay says of it' },
    'at-once': { type: 'string', value: '<n>', help: 'Requests answered at the same time. Default 8' },
    status: { type: 'boolean', help: 'Show requests, earnings and refusals, and end' },
    config: configOption,
    data: dataOption,
  },
  words: 1,
  async run({ values, words: [server] }) {
    const folder = join(await dataFolder(values), 'attach')
    if (values['status'] === true) return showStatus(folder)
    const given = readPrices(textValue(values, 'prices'))
    if (server === undefined && given) return changePrices(folder, given)
    if (server === undefined) throw new UsageError('Name the relay: turnwire attach https://relay.example')
    return serveRelay(server, values, folder, given)
  },
}

type Prices = AttachStatus['prices']

async function serveRelay(
  server: string,
  values: Values,
  folder: string,
  given: Prices | undefined,
): Promise<number> {
  const { Attachment, openWallet, readServer, StatusFile } = await import('../../relay/owner/index.ts')
  const url = readServer(server)
  const atOnce = readCount(textValue(values, 'at-once') ?? '8')
  makePrivateFolder(folder)
  const wallet = await openWallet(join(folder, 'wallet.key'))
  const local = await openAgent(values)
  const prices = given ?? keptPrices(folder)
  if (given) keepPrices(folder, given)
  const status = new StatusFile(join(folder, 'status.json'), {
    server: url.origin,
    agentId: wallet.address,
    prices,
  })
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  say(`Agent   ${wallet.address}${wallet.isNew ? ' (new: its key is in wallet.key; keep a copy)' : ''}`)
  say(`Relay   ${url.origin}`)
  say(`Answers ${local.shown}`)
  if (url.protocol === 'http:' && !/^(?:127\.|localhost$|\[::1\]$)/.test(url.hostname))
    process.stderr.write(
      'The relay is reached without encryption: others on the way can read requests. Use https.\n',
    )
  const attachment = new Attachment({
    server: url,
    wallet,
    agent: local.agent,
    status,
    atOnce,
    name: textValue(values, 'name') ?? local.name,
    description: textValue(values, 'description'),
    say,
  })
  const guard = guardProcess(createLog({ level: 'warn' }), 0)
  const file = join(folder, pricesFile)
  watchFile(file, { interval: 500, persistent: false }, () => attachment.reprice(keptPrices(folder)))
  void Promise.race([untilSignalled(), guard.faulted]).then(() => attachment.stop())
  try {
    await attachment.run()
    say('Stopped.')
    return guard.status
  } finally {
    unwatchFile(file)
    status.write()
    await local.close()
  }
}

type Local = { agent: LocalAgent; name?: string; shown: string; close: () => Promise<void> }

async function openAgent(values: Values): Promise<Local> {
  const address = textValue(values, 'url')
  if (address === undefined) {
    const setup = await setUp(values)
    const { openAttachedAgent } = await import('../attached-agent.ts')
    const log = createLog({ level: setup.config.server?.log ?? 'warn' })
    const { agent, name, close } = await openAttachedAgent(setup.config, textValue(values, 'agent'), log)
    return { agent, name, close, shown: `with the agent "${name}" of ${setup.source}; it has no tools here` }
  }
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url is a whole address, such as http://127.0.0.1:18789/v1/responses')
  const { serverAgent } = await import('../../relay/owner/index.ts')
  const token = process.env['TURNWIRE_ATTACH_TOKEN'] || undefined
  const nested = values['nested'] === true
  const agent = serverAgent({ url, token, model: textValue(values, 'model'), nested })
  return { agent, shown: `with ${url.origin}${url.pathname}`, close: () => Promise.resolve() }
}

function readCount(text: string): number {
  const count = Number(text)
  if (!/^\d{1,4}$/.test(text) || count === 0) throw new UsageError('--at-once is a number from 1 to 9999.')
  return count
}

// ---- prices ------------------------------------------------------------------------------------------------------

const pricesFile = 'prices.json'

function readPrices(text: string | undefined): Prices | undefined {
  if (text === undefined) return undefined
  const [, inputTokenPrice, outputTokenPrice] = /^(\d{1,30})\/(\d{1,30})$/.exec(text) ?? []
  if (inputTokenPrice === undefined || outputTokenPrice === undefined)
    throw new UsageError('--prices are two whole numbers, for a token read and a token written: --prices 1/4')
  return { inputTokenPrice, outputTokenPrice }
}

function keptPrices(folder: string): Prices {
  const free = { inputTokenPrice: '0', outputTokenPrice: '0' }
  try {
    // Checked by `readPrices`.
    const kept = JSON.parse(readFileSync(join(folder, pricesFile), 'utf8')) as Prices
    return readPrices(`${kept.inputTokenPrice}/${kept.outputTokenPrice}`) ?? free
  } catch {
    return free
  }
}

function keepPrices(folder: string, prices: Prices): void {
  writeFileSync(join(folder, pricesFile), `${JSON.stringify(prices)}\n`, { mode: 0o600 })
}

async function changePrices(folder: string, prices: Prices): Promise<number> {
  if (!existsSync(join(folder, 'wallet.key'))) throw nothingAttached(folder)
  keepPrices(folder, prices)
  process.stdout.write(
    `A token read costs ${prices.inputTokenPrice}, a token written ${prices.outputTokenPrice}. ${await whoHas(folder, prices)}\n`,
  )
  return 0
}

/** How long a running machine is waited for. It looks for new prices twice a second. */
const takesPricesMs = 10_000

/** Says whether a machine that runs has taken these prices. */
async function whoHas(folder: string, { inputTokenPrice, outputTokenPrice }: Prices): Promise<string> {
  const { isRunning, readStatus } = await import('../../relay/owner/index.ts')
  for (const end = Date.now() + takesPricesMs; Date.now() < end; await sleep(50)) {
    const status = readStatus(join(folder, 'status.json'))
    if (!status || !isRunning(status)) return 'They hold from the next start.'
    const { state, prices } = status
    if (prices.inputTokenPrice === inputTokenPrice && prices.outputTokenPrice === outputTokenPrice)
      return state === 'attached'
        ? 'The running machine has told its relay.'
        : 'The running machine tells its relay as soon as it is connected.'
  }
  return `The running machine has not taken them yet. See: ${self} attach --status`
}

// ---- the status --------------------------------------------------------------------------------------------------

function nothingAttached(folder: string): UsageError {
  return new UsageError(
    `Nothing was attached from ${folder}. Start with: turnwire attach <server>, or name the folder with --data.`,
  )
}

async function showStatus(folder: string): Promise<number> {
  const { isRunning, readStatus } = await import('../../relay/owner/index.ts')
  const status = readStatus(join(folder, 'status.json'))
  if (!status) throw nothingAttached(folder)
  const { requests, tokens, prices, refusals } = status
  const state = isRunning(status) ? status.state : 'stopped'
  const rows: [string, string][] = [
    ['agent', printable(status.agentId, 80)],
    ['relay', `${printable(status.server, 200)}, ${state} since ${printable(status.since, 40)}`],
    [
      'prices',
      printable(`${prices.inputTokenPrice} a token read, ${prices.outputTokenPrice} a token written`, 200),
    ],
    [
      'requests',
      `${requests.served} served, ${requests.failed} failed, ${requests.refused} refused, ${requests.inFlight} under way`,
    ],
    ['tokens', `${tokens.input} read, ${tokens.output} written`],
    ['earnings', `${status.earnings} at these prices, if every request was paid for`],
    ['relay says', await relayRecord(folder, status)],
  ]
  const last = refusals.map(({ at, reason }): [string, string] => [printable(at, 40), printable(reason, 300)])
  process.stdout.write(`${columns(rows)}${last.length === 0 ? '' : `\nRefused\n${columns(last)}`}`)
  return 0
}

/** The server's own count, if it can be asked. */
async function relayRecord(folder: string, { server }: AttachStatus): Promise<string> {
  const { openWallet, readServer, readUsage, signIn } = await import('../../relay/owner/index.ts')
  const signal = AbortSignal.timeout(5_000)
  try {
    const url = readServer(server)
    const wallet = await openWallet(join(folder, 'wallet.key'))
    const { jwt } = await signIn(url, wallet, signal)
    const { requests, earnings } = await readUsage(url, jwt, signal)
    const served = isJsonObject(requests) ? JSON.stringify(requests['served']) : '?'
    const paid = isJsonObject(earnings)
      ? `; paid ${JSON.stringify(earnings)}`
      : '; payments are not configured there'
    return printable(`${served} served since it started${paid}`, 500)
  } catch (error) {
    return printable(wordsOf(error), 200)
  }
}
