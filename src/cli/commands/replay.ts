// Plays recorded sessions again through today's code and configuration, and says what came to something else.
import { resolve } from 'node:path'
import { buildAgents } from '../../config/build-agent.ts'
import type { TurnwireConfig } from '../../config/config.ts'
import { loadDefault } from '../../config/load-config.ts'
import type { Agent } from '../../engine/index.ts'
import type { Recorded } from '../../language/events.ts'
import { present } from '../../lib/json/present.ts'
import { changeConfig } from '../../replay/change.ts'
import { describeReplay, isSame } from '../../replay/describe-replay.ts'
import { readRecording } from '../../replay/recording.ts'
import { type ReplayOptions, type ReplayReport, replay, type Simulation } from '../../replay/replay.ts'
import { type CliCommand, knownWord, printReport, textValue, UsageError, type Values } from '../command.ts'
import { withProgress } from '../progress.ts'
import { openVault, readExport, readSession, type SessionLog } from '../recorded-logs.ts'
import { configOption, dataOption, isFile, setUp } from '../setup.ts'
import { withServers } from '../with-servers.ts'

export const command: CliCommand = {
  name: 'replay',
  usage: '<session | exported file> [--with <change>] [--json]',
  about: `Plays a recorded session again, or each session of an exported file: people, models and tools do what the log says
that they did, and everything else is the code and the configuration of today. Nothing is sent and no tool runs.
Each request to a model is compared with the one that was sent; so are verdicts, outcomes and the ends of turns.

--with changes one thing:
  model=<name or file>   a configured model, or a file that exports one, answers in place of the recorded one
  policy=<file>          a file that exports rules, in place of those of the configuration
  tools=<file>           a file that exports tools, in place of those with the same names
  prompt=<file or text>  other instructions
As long as the calls are the same, the recorded results answer them. Other calls are simulated, or not run.

It exits with 0 if everything came to the same, and with 1 otherwise.`,
  options: {
    with: { type: 'string', value: '<change>', help: 'One change, such as policy=draft.ts' },
    simulate: {
      type: 'string',
      value: '<file>',
      help: 'Exports functions by the names of tools, for calls that are not recorded',
    },
    people: {
      type: 'string',
      value: '<allow | reject>',
      help: 'Decides what nobody decided then. Default: allow',
    },
    servers: {
      type: 'boolean',
      help: 'Start the MCP servers, to have the tools that they bring. None is called',
    },
    json: { type: 'boolean', help: 'Print the reports as JSON lines' },
    data: dataOption,
    config: configOption,
  },
  words: 1,
  async run({ values, words: [what] }) {
    if (what === undefined)
      throw new UsageError('Say which session: turnwire replay <id>. See them with: turnwire sessions list')
    const recordings: SessionLog[] = isFile(what)
      ? await readExport(what)
      : [[what, (await readSession(values, what)).log]]
    const { config } = await setUp(values)
    const reports = await withReplayer(config, values, replayOne =>
      withProgress('Replaying', 'sessions', async progress => {
        const done: ReplayReport[] = []
        for (const [id, log] of recordings) {
          done.push(await replayOne(id, log))
          progress.step(done.length, recordings.length)
        }
        return done
      }),
    )
    for (const report of reports) {
      const { log: _, bodies: __, ...shown } = report
      printReport(values, shown, describeReplay(report))
    }
    return reports.every(isSame) ? 0 : 1
  },
}

type ReplayOne = (id: string, log: readonly Recorded[]) => Promise<ReplayReport>

/** MCP servers that were started for it are stopped in the end. */
async function withReplayer<Result>(
  given: TurnwireConfig,
  values: Values,
  run: (replayOne: ReplayOne) => Promise<Result>,
): Promise<Result> {
  const change = textValue(values, 'with')
  const { config, model } = change === undefined ? { config: given } : await changeConfig(given, change)
  return withServers(config, values['servers'] === true, async servers => {
    const built = buildAgents(config, () => {}, servers)
    const agents = model ? built.map((agent): Agent => ({ ...agent, model: () => model })) : built
    const options: ReplayOptions = {
      agents,
      ...(model && { live: true }),
      ...present({
        people: readPeople(values),
        simulate: await readSimulations(values),
        vault: await openVault(values),
      }),
    }
    const before = buildAgents(given, () => {}, servers)
    return run(async (id, log) => {
      const recording = readRecording(id, log)
      if (change === undefined) return replay(recording, options)
      // First without the change: what was sent then is made anew, so that the difference can be shown.
      const { bodies } = await replay(recording, { ...options, agents: before, live: false })
      return replay(recording, { ...options, bodies })
    })
  })
}

function readPeople(values: Values): ReplayOptions['people'] {
  const given = textValue(values, 'people')
  return given === undefined
    ? undefined
    : knownWord(given, ['allow', 'reject'] as const, `--people is allow or reject.`)
}

async function readSimulations(values: Values): Promise<Record<string, Simulation> | undefined> {
  const file = textValue(values, 'simulate')
  if (file === undefined) return undefined
  const loaded = await loadDefault(resolve(file), 'export default { <tool>: input => <output> }')
  const entries = typeof loaded === 'object' && loaded !== null ? Object.entries(loaded) : []
  const wrong = entries.find(([, value]) => typeof value !== 'function')
  if (entries.length === 0 || wrong)
    throw new UsageError(`${file} exports no functions by the names of tools${wrong ? `: ${wrong[0]}` : ''}.`)
  return Object.fromEntries(entries) as Record<string, Simulation> // Functions, as was checked.
}
