// How a trial is run and judged: every variant in the same process and the same minute, in turns, so that what the
// machine is doing meanwhile hits all of them alike. What counts is the ratio of medians, of CPU time where a trial
// does not wait for a disk or a clock.

export type Variant = { name: string; run: () => unknown }
export type Trial = {
  name: string
  /** What is measured, per `units`: CPU microseconds, wall microseconds, or the number that `run` itself gives. */
  measure: 'cpu' | 'wall' | 'told'
  units: number
  /** What the numbers are, where they are not microseconds. */
  unit?: string
  /** How many times each variant is run. */
  rounds?: number
  /** How many times before that, unmeasured: code is compiled while it runs. */
  warmUps?: number
  /** Garbage is collected before each run. That also throws compiled code away, so it is only for runs that allocate much. */
  collects?: boolean
  variants: Variant[]
  bars: Bar[]
  close?(): Promise<void> | void
}
/** `ours` may cost at most `most` times `floor`. */
export type Bar = { id: string; ours: string; floor: string; most: number }

export type Result = {
  trial: string
  unit?: string
  medians: Record<string, number>
  bars: (Bar & { ratio: number; met: boolean })[]
}

const fewestRounds = 3

/** `mostMs`: a trial that takes longer has fewer rounds, of which three are measured in any case. Half of it is for warm-ups. */
export async function runTrial(trial: Trial, mostMs = Infinity): Promise<Result> {
  const samples = new Map(trial.variants.map(variant => [variant.name, [] as number[]]))
  const { rounds = 7, warmUps = 1 } = trial
  const begun = performance.now()
  const isOver = (share: number): boolean => performance.now() - begun > share * mostMs
  const once = async (take: (name: string, spent: number) => void): Promise<void> => {
    for (const { name, run } of trial.variants) {
      // What one variant left behind is not for the next to clear away.
      if (trial.collects) globalThis.gc?.()
      take(name, await measure(trial.measure, run))
    }
  }
  for (let round = 0; round < warmUps && !(round > 0 && isOver(0.5)); round += 1) await once(() => {})
  for (let round = 0; round < rounds && !(round >= fewestRounds && isOver(1)); round += 1)
    await once((name, spent) => samples.get(name)?.push(spent / trial.units))
  await trial.close?.()
  const medians = Object.fromEntries([...samples].map(([name, values]) => [name, median(values)]))
  const bars = trial.bars.map(bar => {
    const ratio = (medians[bar.ours] ?? Number.NaN) / (medians[bar.floor] ?? Number.NaN)
    return { ...bar, ratio, met: ratio <= bar.most }
  })
  return { trial: trial.name, ...(trial.unit !== undefined && { unit: trial.unit }), medians, bars }
}

/** A bar that is a number and no ratio. */
export function limit(
  id: string,
  ours: string,
  value: number,
  most: number,
  unit: string,
): Result['bars'][0] {
  const ratio = value / most
  return { id, ours, floor: `${most.toLocaleString('en')} ${unit}`, most: 1, ratio, met: ratio <= 1 }
}

async function measure(what: Trial['measure'], run: Variant['run']): Promise<number> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const told = await run()
  if (what === 'told') return Number(told)
  if (what === 'wall') return (performance.now() - start) * 1000
  const { user, system } = process.cpuUsage(cpu)
  return user + system
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function show(result: Result): string {
  const lines = [result.trial]
  for (const [name, value] of Object.entries(result.medians))
    lines.push(`  ${name.padEnd(44)} ${formatMedian(value, result.unit)}`)
  for (const bar of result.bars)
    lines.push(
      `  ${bar.met ? 'met ' : 'MISS'} ${bar.id}: ${bar.ours} is ${bar.ratio.toFixed(2)}x ${bar.floor}, at most ${bar.most}x`,
    )
  return lines.join('\n')
}

/** `unit`: absent for microseconds. */
export function formatMedian(value: number, unit: string | undefined): string {
  return unit === undefined ? format(value) : plain(value, unit)
}

function format(us: number): string {
  return us >= 10_000 ? `${(us / 1000).toFixed(1)} ms` : `${us.toFixed(1)} us`
}

function plain(value: number, unit: string): string {
  return `${value.toLocaleString('en', { maximumSignificantDigits: 4 })} ${unit}`
}
