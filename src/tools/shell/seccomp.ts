// The system calls that a command does not have, as a filter for the kernel (classic BPF). Refused are those that take memory
// which no process shows (memfd, System V segments), those that go past this filter (io_uring, other calling conventions),
// and every way to set the set-uid or set-gid bit: a file that has it would run as the server's user on the host.
import { arch as ownArch } from 'node:process'

/** `mode`: the argument with the permissions; `flags`: counts only if this argument says that a file is made. */
type ModeRule = { call: number; mode: number; flags?: number }
type Machine = { audit: number; refused: readonly number[]; modes: readonly ModeRule[] }

const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    // memfd_create, memfd_secret, shmget, io_uring_setup, openat2 (its mode is out of the filter's sight)
    refused: [319, 447, 29, 425, 437],
    modes: [
      { call: 2, mode: 2, flags: 1 }, // open
      { call: 257, mode: 3, flags: 2 }, // openat
      { call: 85, mode: 1 }, // creat
      { call: 90, mode: 1 }, // chmod
      { call: 91, mode: 1 }, // fchmod
      { call: 268, mode: 2 }, // fchmodat
      { call: 452, mode: 2 }, // fchmodat2
      { call: 133, mode: 1 }, // mknod
      { call: 259, mode: 2 }, // mknodat
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    refused: [279, 447, 194, 425, 437],
    modes: [
      { call: 56, mode: 3, flags: 2 }, // openat
      { call: 52, mode: 1 }, // fchmod
      { call: 53, mode: 2 }, // fchmodat
      { call: 452, mode: 2 }, // fchmodat2
      { call: 33, mode: 2 }, // mknodat
    ],
  },
}

const setIdBits = 0o6000
/** O_CREAT, and the bit of O_TMPFILE that is its own. */
const makesFile = 0o100 | 0o20000000
/** On x64 a second set of calls (x32) has this bit. */
const otherCalls = 0x40000000

const allow = 0x7fff0000
const refuseWithErrno = (errno: number): number => 0x00050000 | errno
const EPERM = 1
const ENOSYS = 38

/** Instructions: load a word of the call's data, return, compare and jump over so many instructions. */
const load = 0x20
const give = 0x06
const equal = 0x15
const atLeast = 0x35
const anyBit = 0x45

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const numberAt = 0
const machineAt = 4
/** The lower half of an argument; both machines are little-endian. */
const argumentAt = (index: number): number => 16 + 8 * index

/** Undefined: there is no filter for this machine. */
export function systemCallFilter(arch: string = ownArch): Buffer | undefined {
  const machine = Object.hasOwn(machines, arch) ? machines[arch] : undefined
  if (!machine) return undefined
  return encode([
    [load, 0, 0, machineAt],
    [equal, 1, 0, machine.audit],
    [give, 0, 0, refuseWithErrno(ENOSYS)],
    [load, 0, 0, numberAt],
    [atLeast, 0, 1, otherCalls],
    [give, 0, 0, refuseWithErrno(ENOSYS)],
    ...machine.refused.flatMap((call): Instruction[] => [
      [equal, 0, 1, call],
      [give, 0, 0, refuseWithErrno(ENOSYS)],
    ]),
    ...machine.modes.flatMap(modeRule),
    [give, 0, 0, allow],
  ])
}

function modeRule({ call, mode, flags }: ModeRule): Instruction[] {
  const check: Instruction[] = [
    [load, 0, 0, argumentAt(mode)],
    [anyBit, 0, 1, setIdBits],
    [give, 0, 0, refuseWithErrno(EPERM)],
    [give, 0, 0, allow],
  ]
  const whole: Instruction[] =
    flags === undefined
      ? check
      : [[load, 0, 0, argumentAt(flags)], [anyBit, 1, 0, makesFile], [give, 0, 0, allow], ...check]
  return [[equal, 0, whole.length, call], ...whole]
}

function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8)
  for (const [at, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(ifTrue, at * 8 + 2)
    bytes.writeUInt8(ifFalse, at * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4)
  }
  return bytes
}
