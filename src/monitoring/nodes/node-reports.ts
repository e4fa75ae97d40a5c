import { Injectable } from '@nestjs/common';
import { defineScript, int, ScriptRegistry, str } from 'luanest/script-registry';

/**
 * Stores the report of one node (a process of the app). Deletes the reports of nodes that have been silent for `silentAfterMs`.
 * Returns Redis' time and the reports that are left.
 */
const reportNode = defineScript({
  name: 'app.report-node',
  keys: ['nodes'],
  args: { node: str, report: str, silentAfterMs: int },
  source: `
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    local all, living = redis.call('HGETALL', KEYS[1]), { string.format('%.0f', now) }
    for i = 1, #all, 2 do
      local at, report = string.match(all[i + 1], '^(%d+) (.*)$')
      if now - at > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[i]) else living[#living + 1] = report end
    end
    return living`,
  group: false,
  reply: ([nowMs = '0', ...reports]: string[]) => ({ nowMs: Number(nowMs), reports }),
});

const forgetNode = defineScript({
  name: 'app.forget-node',
  keys: ['nodes'],
  args: { node: str },
  source: `return redis.call('HDEL', KEYS[1], ARGV[1])`,
  group: false,
  reply: (forgotten: number) => forgotten,
});

export const nodeScripts = [reportNode, forgetNode] as const;

/** Reports of the processes of the app, in one Redis hash that expires when all processes are silent. */
@Injectable()
export class NodeReports {
  constructor(private readonly registry: ScriptRegistry) {}

  /**
   * Stores a report. Returns the reports of all nodes that are not silent, ordered by name, and Redis' time, ms since 1970.
   *
   * @param silentAfterMs age at which a report is deleted, ms
   */
  async exchange<T extends { readonly node: string }>(
    report: T,
    silentAfterMs: number,
  ): Promise<{ readonly nowMs: number; readonly reports: readonly T[] }> {
    const args = { node: report.node, report: JSON.stringify(report), silentAfterMs };
    const { nowMs, reports } = await this.registry.run(reportNode, { keys: this.keys(), args });
    const all = reports.map((text) => JSON.parse(text) as T);
    return { nowMs, reports: all.sort((one, other) => one.node.localeCompare(other.node)) };
  }

  async forget(node: string): Promise<void> {
    await this.registry.run(forgetNode, { keys: this.keys(), args: { node } });
  }

  private keys(): { nodes: string } {
    return { nodes: this.registry.keySpace('app').tag('nodes').key('reports') };
  }
}
