/**
 * Makes the fuzzer's addon loadable. It is compiled for glibc 2.38, and Debian 12 has 2.36, though it needs only three functions of that: here they
 * are in a library of their own, and a copy of the addon only prefers that version where the original insists.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const FUNCTIONS = `
#include <stdlib.h>
long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
static char streams[64];
extern void _ZNSt8ios_base4InitC1Ev(void *);
void _ZSt21ios_base_library_initv(void) { _ZNSt8ios_base4InitC1Ev(streams); }
`
const NEWER = ['GLIBC_2.38', 'GLIBCXX_3.4.32']
const PREFERRED = 2
/** SHT_GNU_verneed: the versions that a library needs. */
const NEEDS = 0x6ffffffe

/** What the environment of the fuzzer must have. */
export function addonEnvironment(directory: string): Readonly<Record<string, string>> {
  if (process.platform !== 'linux') return {}
  mkdirSync(directory, { recursive: true })
  const fuzzer = dirname(createRequire(import.meta.url).resolve('@jazzer.js/fuzzer'))
  const addon = join(fuzzer, '..', 'prebuilds', `fuzzer-linux-${process.arch}.node`)
  const [source, functions, copy] = [join(directory, 'functions.c'), join(directory, 'functions.so'), join(directory, 'fuzzer.node')]
  writeFileSync(source, FUNCTIONS)
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', functions, source])
  const bytes = readFileSync(addon)
  for (const at of versionsIn(bytes, NEWER)) bytes.writeUInt16LE(bytes.readUInt16LE(at + 4) | PREFERRED, at + 4)
  writeFileSync(copy, bytes)
  return { LD_PRELOAD: functions, HOLDFAST_FUZZ_ADDON: addon, HOLDFAST_FUZZ_COPY: copy }
}

/** Where some versions stand among those that a library (ELF, 64 bits, little-endian) needs. */
function versionsIn(library: Buffer, wanted: readonly string[]): number[] {
  const [sections, size, count] = [Number(library.readBigUInt64LE(0x28)), library.readUInt16LE(0x3a), library.readUInt16LE(0x3c)]
  const headers = Array.from({ length: count }, (_, index) => library.subarray(sections + index * size, sections + (index + 1) * size))
  const needs = headers.find((header) => header.readUInt32LE(4) === NEEDS)
  if (needs === undefined) return []
  const offset = (header: Buffer): number => Number(header.readBigUInt64LE(24))
  const texts = offset(headers[needs.readUInt32LE(40)] as Buffer)
  const found: number[] = []
  for (let at = offset(needs), left = needs.readUInt32LE(44); left > 0; left--) {
    for (let version = at + library.readUInt32LE(at + 8), of = library.readUInt16LE(at + 2); of > 0; of--) {
      const name = texts + library.readUInt32LE(version + 8)
      if (wanted.includes(library.toString('latin1', name, library.indexOf(0, name)))) found.push(version)
      version += library.readUInt32LE(version + 12)
    }
    at += library.readUInt32LE(at + 12)
  }
  return found
}
