// Counters, gauges and histograms, and the text form in which Prometheus reads them. A metric keeps at most `mostSeries`
// different sets of labels: further ones are counted together as "other", so that callers cannot make memory grow.

const mostSeries = 500

type Labels = Readonly<Record<string, string>>
/** The names of a metric's labels. */
type LabelNames = readonly [] | readonly [string] | readonly [string, string]

/** `lines`: the samples of one metric. */
type Metric = { name: string; help: string; type: 'counter' | 'gauge' | 'histogram'; lines: () => string[] }

/** Values by their labels. */
class Series<Value> {
  readonly #values = new Map<string, Value>()
  /** The same values by the labels as they were given, so that the text of the labels is made once. */
  readonly #known = new Map<string, Map<string, Value>>()
  #knownCount = 0
  readonly #names: LabelNames
  readonly #make: () => Value

  constructor(names: LabelNames, make: () => Value) {
    this.#names = names
    this.#make = make
  }

  of(labels: Labels): Value {
    const [one = '', other = ''] = this.#names
    const first = labels[one] ?? ''
    const second = labels[other] ?? ''
    const value = this.#known.get(first)?.get(second)
    return value ?? this.#add(labels, first, second)
  }

  #add(labels: Labels, first: string, second: string): Value {
    const key = this.#key(name => labels[name] ?? '')
    const isKnown = this.#values.has(key) || this.#values.size < mostSeries
    const shown = isKnown ? key : this.#key(() => 'other')
    const value = this.#values.get(shown) ?? this.#make()
    this.#values.set(shown, value)
    if (this.#knownCount >= mostSeries) return value
    this.#knownCount += 1
    const known = this.#known.get(first)
    if (known) known.set(second, value)
    else this.#known.set(first, new Map([[second, value]]))
    return value
  }

  lines(write: (labels: string, value: Value) => string[]): string[] {
    return [...this.#values].flatMap(([labels, value]) => write(labels, value))
  }

  #key(label: (name: string) => string): string {
    return this.#names.map(name => `${name}="${escaped(label(name))}"`).join(',')
  }
}

function escaped(value: string): string {
  return value.slice(0, 200).replace(/[\\"\n]/g, found => (found === '\n' ? '\\n' : `\\${found}`))
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}`
}

/** `of`: the count of these labels, to be added to. */
export type Counter = { of(labels: Labels): { value: number } }
export type Histogram = { observe(value: number, labels?: Labels): void }

type Buckets = { counts: number[]; sum: number; count: number }

export class MetricRegistry {
  readonly #metrics: Metric[] = []

  counter(name: string, help: string, labels: LabelNames = []): Counter {
    const series = new Series(labels, () => ({ value: 0 }))
    const lines = () => series.lines((of, { value }) => [sample(name, of, value)])
    this.#metrics.push({ name, help, type: 'counter', lines })
    return series
  }

  /** `read` is called for each scrape. */
  gauge(name: string, help: string, read: () => number): void {
    this.#metrics.push({ name, help, type: 'gauge', lines: () => [sample(name, '', read())] })
  }

  /** A counter whose value is known elsewhere. */
  counted(name: string, help: string, read: () => number): void {
    this.#metrics.push({ name, help, type: 'counter', lines: () => [sample(name, '', read())] })
  }

  histogram(name: string, help: string, bounds: readonly number[], labels: LabelNames = []): Histogram {
    const series = new Series<Buckets>(labels, () => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }))
    const write = (of: string, { counts, sum, count }: Buckets): string[] => {
      const within = (bound: number | string): string => `${of === '' ? '' : `${of},`}le="${bound}"`
      return [
        ...bounds.map((bound, index) => sample(`${name}_bucket`, within(bound), counts[index] ?? 0)),
        sample(`${name}_bucket`, within('+Inf'), count),
        sample(`${name}_sum`, of, sum),
        sample(`${name}_count`, of, count),
      ]
    }
    this.#metrics.push({ name, help, type: 'histogram', lines: () => series.lines(write) })
    return {
      observe(value, of = {}) {
        const buckets = series.of(of)
        buckets.sum += value
        buckets.count += 1
        for (let index = bounds.length - 1; index >= 0 && value <= bounds[index]!; index--)
          buckets.counts[index]! += 1
      },
    }
  }

  get names(): string[] {
    return this.#metrics.map(({ name }) => name)
  }

  /** The text exposition format, version 0.0.4. */
  text(): string {
    const blocks = this.#metrics.map(({ name, help, type, lines }) =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()].join('\n'),
    )
    return `${blocks.join('\n')}\n`
  }
}
