// JUnit's XML, which build servers read.

/** `failures`: empty if it passed. */
export type JunitCase = { name: string; failures: readonly string[]; ms?: number }

export function toJunit(suite: string, className: string, cases: readonly JunitCase[]): string {
  const failed = cases.filter(({ failures }) => failures.length > 0).length
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escapeXml(suite)}" tests="${cases.length}" failures="${failed}">`,
    ...cases.map(each => caseLine(className, each)),
    '</testsuite>',
    '',
  ].join('\n')
}

function caseLine(className: string, { name, failures, ms = 0 }: JunitCase): string {
  const seconds = (ms / 1000).toFixed(3)
  const head = `  <testcase classname="${escapeXml(className)}" name="${escapeXml(name)}" time="${seconds}"`
  if (failures.length === 0) return `${head}/>`
  const words = escapeXml(failures.join('\n'))
  return `${head}>\n    <failure message="${escapeXml(failures[0] ?? '')}">${words}</failure>\n  </testcase>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Control characters that XML has no form for are left out. */
function escapeXml(text: string): string {
  return text.replace(/[&<>"]|\p{Cc}/gu, each => entities[each] ?? (/[\t\n\r]/.test(each) ? each : ''))
}
