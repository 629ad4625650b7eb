// The marks of an axis: round values from zero to a little above the largest, and how they are written.
import { duration } from '../../../src/react/words.ts'

const steps = [1, 2, 2.5, 5, 10]

/** At most about `most` marks above zero. `whole`: none between two whole numbers. */
export function axisMarks(largest: number, { most = 4, whole = false } = {}): number[] {
  if (largest <= 0) return [0, 1]
  const least = largest / most
  const power = 10 ** Math.floor(Math.log10(least))
  const step = (steps.find(each => each * power >= least - power * 1e-9) ?? 10) * power
  return marksBy(whole ? Math.max(1, Math.ceil(step)) : step, largest)
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const timeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .concat([1, 2, 5, 10, 20, 30].map(each => each * second))
  .concat([1, 2, 5, 10, 20, 30].map(each => each * minute))
  .concat([1, 2, 4, 6, 12, 24].map(each => each * hour))

/** The same for milliseconds: halves of a minute are round, tenths are not. */
export function timeMarks(largest: number, most = 4): number[] {
  const step = timeSteps.find(each => each >= largest / most)
  return step === undefined ? axisMarks(largest, { most }) : marksBy(step, largest)
}

function marksBy(step: number, largest: number): number[] {
  const count = Math.max(1, Math.ceil(largest / step - 1e-9))
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/** Every so many labels, so that each has this width. */
export function labelEvery(labels: number, width: number, each: number): number {
  const fits = Math.max(1, Math.floor(width / each))
  return Math.max(1, Math.ceil(labels / fits))
}

/** A number in few characters: 12.3k. Below ten thousand it is whole: 8,065. */
export function shortCount(value: number): string {
  const [divisor, unit] =
    value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, '']
  const scaled = value / divisor
  const digits = scaled >= 100 ? 0 : 1
  return `${scaled.toLocaleString('en', { maximumFractionDigits: digits })}${unit}`
}

/** A round time in few characters. Others as everywhere. */
export function axisTime(ms: number): string {
  const [size, unit] =
    ms >= hour ? [hour, 'h'] : ms >= minute ? [minute, 'min'] : ms >= second ? [second, 's'] : [1, 'ms']
  return Number.isInteger(ms / size) ? `${ms / size} ${unit}` : duration(ms)
}
