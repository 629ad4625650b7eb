import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MetricRegistry } from './prometheus.ts'

describe('metrics in the text form of Prometheus', () => {
  it('counters, gauges and histograms have help, type and samples', () => {
    const registry = new MetricRegistry()
    const calls = registry.counter('calls_total', 'Calls.', ['outcome'])
    calls.of({ outcome: 'ok' }).value += 1
    calls.of({ outcome: 'ok' }).value += 2
    registry.gauge('open', 'Open.', () => 7)
    const seconds = registry.histogram('seconds', 'How long.', [0.1, 1], ['model'])
    seconds.observe(0.05, { model: 'm' })
    seconds.observe(0.5, { model: 'm' })
    seconds.observe(5, { model: 'm' })
    assert.equal(
      registry.text(),
      [
        '# HELP calls_total Calls.',
        '# TYPE calls_total counter',
        'calls_total{outcome="ok"} 3',
        '# HELP open Open.',
        '# TYPE open gauge',
        'open 7',
        '# HELP seconds How long.',
        '# TYPE seconds histogram',
        'seconds_bucket{model="m",le="0.1"} 1',
        'seconds_bucket{model="m",le="1"} 2',
        'seconds_bucket{model="m",le="+Inf"} 3',
        'seconds_sum{model="m"} 5.55',
        'seconds_count{model="m"} 3',
        '',
      ].join('\n'),
    )
  })

  it('label values are escaped', () => {
    const registry = new MetricRegistry()
    registry.counter('calls_total', 'Calls.', ['tool']).of({ tool: 'a"b\\c\nd' }).value += 1
    assert.match(registry.text(), /calls_total\{tool="a\\"b\\\\c\\nd"\} 1/)
  })

  it('labels beyond the limit are counted together', () => {
    const registry = new MetricRegistry()
    const calls = registry.counter('calls_total', 'Calls.', ['tool'])
    for (let index = 0; index < 2000; index++) calls.of({ tool: `tool ${index}` }).value += 1
    const lines = registry.text().split('\n')
    assert.equal(lines.filter(line => line.startsWith('calls_total{')).length, 501)
    assert.ok(lines.includes('calls_total{tool="other"} 1500'))
  })
})
