// What stands in a user's words, whole and of its kind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carriedBy } from './carried.ts'
import { findWhole, fold, isDeceptive } from './fold.ts'
import { SaidText } from './said.ts'
import { readMoment } from './times.ts'
import { Words } from './words.ts'

const said = (text: string): SaidText => new SaidText(text)
const has = (text: string, value: string, nouns: string[] = []): boolean =>
  !isDeceptive(value) && said(text).hasText(fold(value), nouns)

test('an address stands whole, and not inside another address', () => {
  assert.ok(has('Write to anna@example.org, please.', 'anna@example.org'))
  assert.ok(has('Write to <Anna@Example.org>.', 'anna@example.org'))
  for (const [text, value] of [
    ['Write to joanna@example.org', 'anna@example.org'],
    ['Write to anna@example.org.evil.test', 'anna@example.org'],
    ['Write to anna@example.orga', 'anna@example.org'],
    ['See https://example.org/a/b', 'https://example.org/a'],
    ['See https://example.org/a?x=1', 'https://example.org/a'],
    ['Open report.docx', 'report'],
    ['Open docs/report.docx', 'report.docx'],
    ['Write to anna@example.org', 'example.org'],
    ['Write to anna@example.org', 'anna'],
    ['Pay GB29NWBK60161331926819', 'NWBK60161331926819'],
  ] as const)
    assert.ok(!has(text, value), `${value} in ${text}`)
})

test('a value that a person would take for another one equals nothing', () => {
  const text = 'Send it to anna@example.org'
  assert.ok(has(text, 'ａnna@example.org'), 'NFKC')
  for (const value of [
    'аnna@example.org', // a Cyrillic а
    'anna@exαmple.org', // a Greek α
    'anna\u200b@example.org',
    'anna@example.org\u202e',
    'anna\u2060@example.org',
    'an\u00adna@example.org',
  ])
    assert.ok(!has(text, value), JSON.stringify(value))
  // Also where the user pasted it.
  assert.ok(!has('Send it to аnna@example.org', 'аnna@example.org'))
  assert.ok(has('Отправь это Ивану', 'Ивану'))
})

test('a short number needs its noun, and a number in a date is none', () => {
  const text = 'On June 13 delete the old file 7, at 10:20, and pay 12.00 of the 19.5 %'
  assert.ok(said(text).hasNumber(7, ['file', 'id']))
  assert.ok(!said(text).hasNumber(7, ['event', 'id']))
  for (const value of [13, 10, 20, 19.5]) assert.ok(!said(text).hasNumber(value, ['file', 'id']), `${value}`)
  assert.ok(said(text).hasAmount(12, ['amount'], false))
  assert.ok(!said(text).hasAmount(13, ['amount'], false))
  assert.ok(!said(text).hasAmount(19.5, ['amount'], false))
  assert.ok(said('Pay $1,250.50 now').hasAmount(1250.5, [], true))
  assert.ok(said('rent is 2200').hasAmount(2200, ['amount'], false))
  assert.ok(!said('in the year 2024').hasAmount(2024, ['amount'], false))
  assert.ok(!said('Book it for 5 people').hasAmount(5, ['amount'], false))
  assert.ok(said('ticket #42').hasNumber(42, ['id']))
  for (const text of [
    'send files 7 and 8',
    'send the files 7, 8, 9',
    'send file 8 once more',
    'send file #8',
  ])
    assert.ok(said(text).hasNumber(8, ['file'], 'id'), text)
  for (const text of ['send 8 files', 'send file 7 and 8 copies', 'send files 7 with 8', 'send 8 big files'])
    assert.ok(!said(text).hasNumber(8, ['file'], 'id'), text)
  assert.ok(said('for 4 guests').hasNumber(4, ['guests', 'guest']))
})

test('dates and times are read as people write them', () => {
  const text = said(
    'Meet on May 26th at 10:00 or 4 pm for one hour, or on 2024-06-02, or 3. Juli 2024 at noon',
  )
  for (const value of ['2024-05-26', '2031-05-26', '2024-06-02', '2024-07-03'])
    assert.ok(text.hasDay(readMoment(value)!.day!, undefined), value)
  for (const value of ['2024-05-27', '2023-06-02', '2024-03-07'])
    assert.ok(!text.hasDay(readMoment(value)!.day!, undefined), value)
  for (const minute of [600, 960, 720]) assert.ok(text.hasMinute(minute), `${minute}`)
  assert.ok(!text.hasMinute(660))
  assert.ok(text.hasDuration(60))
  assert.ok(!text.hasDuration(120))
  assert.ok(!said('on 05/06/2024').hasDay({ year: 2024, month: 5, day: 6 }, undefined), 'two readings')
  const today = { year: 2024, month: 5, day: 15 }
  assert.ok(said('tomorrow').hasDay({ year: 2024, month: 5, day: 16 }, today))
  assert.ok(!said('tomorrow').hasDay({ year: 2024, month: 5, day: 16 }, undefined))
})

test('spans of days and hours are read with both their ends, and days of the week from today', () => {
  const days = (text: string): string[] =>
    said(text).times.days.map(({ year, month, day }) => [year ?? 'any', month, day].join('-'))
  for (const [text, first, last] of [
    ['from the 24th to the 28th of December 2026', '2026-12-24', '2026-12-28'],
    ['December 24-28, 2026', 'any-12-24', '2026-12-28'],
    ['24–28 Dec', 'any-12-24', 'any-12-28'],
    ['Nov 10th through 15th', 'any-11-10', 'any-11-15'],
    ['between Nov 10 and Nov 15', 'any-11-10', 'any-11-15'],
  ] as const)
    assert.deepEqual(days(text).sort(), [first, last].sort(), text)
  for (const [text, from, to] of [
    ['3-4 pm', 15, 16],
    ['11 to 1 pm', 11, 13],
    ['from 9 to 11 am', 9, 11],
    ['from 2 to 4 in the afternoon', 14, 16],
    ['at 7:00 in the evening, not at 8 in the morning', 19, 8],
    ['at 19:00, in the evening, or 10 in the morning', 19, 10],
  ] as const)
    for (const hour of [from, to]) assert.ok(said(text).hasMinute(hour * 60), `${hour} in ${text}`)
  const today = { year: 2026, month: 11, day: 18 }
  assert.ok(said('on friday').hasDay({ year: 2026, month: 11, day: 20 }, today))
  assert.ok(said('in 3 days').hasDay({ year: 2026, month: 11, day: 21 }, today))
  for (const text of ['next monday', 'next  tuesday'])
    assert.ok(said(text).hasDay({ year: 2026, month: 11, day: text.includes('mon') ? 23 : 24 }, today), text)
  for (const text of ['next friday', 'next sunday', 'next wednesday'])
    for (const day of [18, 20, 22, 25, 27, 29])
      assert.ok(!said(text).hasDay({ year: 2026, month: 11, day }, today), `${text}: two readings`)
  for (const text of ['next friday', 'last friday', 'on friday, in rooms 3 to 4'])
    assert.ok(!said(text).hasDay({ year: 2026, month: 11, day: 27 }, today), text)
  assert.ok(!said('on wednesday').hasDay(today, today), 'today, or in a week')
  assert.ok(!said('for 3 days').hasDay({ year: 2026, month: 11, day: 21 }, today))
})

test('the last second of a day is its end, and any other second is another time', () => {
  assert.deepEqual(readMoment('2026-05-13 23:59:59'), readMoment('2026-05-13 23:59'))
  assert.equal(readMoment('2026-05-13 22:59:59'), undefined)
})

test('a date that can be read in two ways is read as the others of the text', () => {
  const [third, second] = [
    { year: 2026, month: 3, day: 2 },
    { year: 2026, month: 2, day: 3 },
  ]
  for (const [text, day, other] of [
    ['24/12/2025 till 02/03/2026', third, second],
    ['12/24/2025 till 02/03/2026', second, third],
  ] as const) {
    assert.ok(said(text).hasDay(day, undefined), text)
    assert.ok(!said(text).hasDay(other, undefined), text)
  }
  for (const text of ['02/03/2026', '24/12/2025, 12/24/2025 and 02/03/2026'])
    assert.ok(!said(text).hasDay(third, undefined) && !said(text).hasDay(second, undefined), text)
})

test('where no hour was said a day is the whole of it, and days may be counted with the first of them', () => {
  const words = (text: string): Words => {
    const made = new Words()
    made.add(text)
    return made
  }
  const day = { year: 2026, month: 5, day: 13 }
  const [begin, end, other] = [0, 1439, 600].map(minute => ({ day, minute }))
  assert.ok(words('on May 13').hasMoment(begin!, undefined) && words('on May 13').hasMoment(end!, undefined))
  assert.ok(!words('on May 13').hasMoment(other!, undefined))
  assert.ok(!words('on May 13 at 9:30').hasMoment(begin!, undefined))
  assert.ok(!words('in May').hasMoment({ minute: 0 }, undefined), 'no day')
  const until = (days: number, minute: number): { day: typeof day; minute: number } => ({
    day: { ...day, day: day.day + days },
    minute,
  })
  const five = words('for five days from May 13')
  for (const [to, holds] of [
    [until(4, 0), true],
    [until(4, 1439), true],
    [until(5, 0), true],
    [until(3, 1439), false],
    [until(6, 0), false],
  ] as const)
    assert.equal(five.hasDuration(begin!, to), holds, JSON.stringify(to))
  assert.ok(!words('for five nights').hasDuration(begin!, until(4, 0)))
})

test('free text carries links, addresses, codes and long numbers, and nothing else', () => {
  const found = (text: string): string[] => carriedBy(text).found
  assert.deepEqual(
    found('See you on 2024-05-20 at 10:30 in room 12, 3rd floor: a 1-hour talk. It costs 12.50.'),
    [],
  )
  assert.deepEqual(found('I read report.docx and notes.txt twice.'), [])
  for (const [text, token] of [
    ['go to https://evil.test/x?y=1.', 'https://evil.test/x?y=1'],
    ['go to www.evil-site.com/path', 'www.evil-site.com/path'],
    ['go to bit.ly/sUf7tOJ now', 'bit.ly/sUf7tOJ'],
    ['mail mark@evil.test, please', 'mark@evil.test'],
    ['evil[.]com', 'evil[.]com'],
    ['visit evil dot com', 'evil dot com'],
    ['visit evil。com', 'evil.com'],
    ['the code is 463820', '463820'],
    ['IBAN US133000000121212121212', 'US133000000121212121212'],
    ['call +41 44 123 45 67', '+41 44 123 45 67'],
    ['card 4111-1111-1111-1111', '4111-1111-1111-1111'],
    ['10.0.0.1:8080/x', '10.0.0.1:8080/x'],
    ['password: hunter2-2024', 'hunter2-2024'],
    ['c2VuZCBpdCB0byBldmlsLnRlc3Q=', 'c2VuZCBpdCB0byBldmlsLnRlc3Q='],
    ['javascript:alert(1)', 'javascript:alert(1'],
  ] as const)
    assert.deepEqual(found(text), [token], text)
  assert.ok(carriedBy('see ev\u200bil.com').broken)
})

test('words that are joined by punctuation are not separate values', () => {
  const standsIn = (text: string, value: string): boolean => !findWhole(text, value).next().done
  assert.ok(standsIn('the follow-up meeting', 'follow-up meeting'))
  assert.ok(!standsIn('the follow-up meeting', 'up meeting'))
  assert.ok(standsIn("sarah's event", 'sarah'))
  assert.ok(standsIn('post it in #general.', 'general'))
})

test('no text takes longer than one of plain words of its length, by much', () => {
  const length = 64 * 1024
  const fill = (piece: string): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
  const time = (text: string): number => {
    const start = process.cpuUsage()
    for (let round = 0; round < 3; round += 1) {
      carriedBy(text)
      const read = new SaidText(text)
      read.hasText('anna@example.org', [])
      read.hasAmount(7, [], false)
    }
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
  const plain = fill('some words of a letter 12 at b.c, ')
  time(plain)
  const reference = time(plain) + 1000
  for (const piece of [
    'a',
    'a.',
    'a-',
    '1',
    '1 ',
    '111 ',
    '@',
    'a@',
    ')',
    'http://)',
    '.',
    ' ',
    '1:',
    'a b',
    'a\n',
    '#',
    '-1',
    '+',
    ...[
      '-',
      '_',
      'a1 ',
      'A1B2 ',
      ' dot ',
      '-dot',
      'one ',
      'a.b ',
      '4;',
      'aaaa:',
      '1/1/',
      '11-11 ',
      '(1)',
      'a_',
    ],
    ...['\u200b', 'a\u200b', '%2e', '&#46;', 'CH93 ', 'x, ', '(x', '2024-', '1.1.', '10:00'],
  ])
    for (const text of [fill(piece), `http://${fill(piece)}x`, `${fill(piece)}!`]) {
      const spent = time(text)
      assert.ok(
        spent < reference * 40,
        `${JSON.stringify(piece)} took ${(spent / reference).toFixed(1)} times as long`,
      )
    }
})
