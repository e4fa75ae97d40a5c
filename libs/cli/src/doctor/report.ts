import { coloured, type Terminal } from '../terminal';
import { counted } from './checks/server';
import type { Finding } from './finding';

const COLOURS = { ok: 'green', warning: 'yellow', error: 'red' } as const;
const ORDER = ['error', 'warning', 'ok'] as const;

/** Formats the findings as text. The most severe ones come first. */
export function report(findings: readonly Finding[], servers: number, terminal: Terminal): string {
  const sorted = ORDER.flatMap((level) => findings.filter((finding) => finding.level === level));
  const blocks = sorted.map((finding) => block(finding, servers, terminal));
  return `${blocks.join('\n')}\n\n${summary(findings)}`;
}

function block({ check, level, nodes, found, why, remedy }: Finding, servers: number, terminal: Terminal): string {
  const where = servers > 1 && nodes ? ` [${nodes.length === servers ? 'all masters' : nodes.join(', ')}]` : '';
  const head = `${coloured(terminal, COLOURS[level], level.padEnd(7))}  ${check.padEnd(11)}  ${found}${where}`;
  const indent = ' '.repeat(9);
  return [head, why && `${indent}why          ${why}`, remedy && `${indent}what to do   ${remedy}`]
    .filter((line) => line !== undefined)
    .join('\n');
}

function summary(findings: readonly Finding[]): string {
  const of = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length;
  const errors = of('error');
  const warnings = of('warning');
  if (errors + warnings === 0) return 'Nothing to do.';
  return `${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`;
}
