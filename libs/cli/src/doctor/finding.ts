/** One thing that the doctor looked at, and what it saw there. */
export interface Finding {
  /** Name of the check, such as `eviction`. It stays the same between versions. */
  readonly check: string;
  /** `error`: luanest loses data or does not work. `warning`: it may, or slower. */
  readonly level: 'ok' | 'warning' | 'error';
  /** `host:port` of the servers that it is about. Absent: the Cluster as a whole, or this machine. */
  readonly nodes?: readonly string[];
  /** The observation. */
  readonly found: string;
  /** Reason why it matters. Absent if all is well. */
  readonly why?: string;
  /** The remedy: commands, settings, or a page. Absent if all is well. */
  readonly remedy?: string;
}

/** A finding about one server, which names it. */
export type ServerFinding = Omit<Finding, 'nodes'>;

export function ok(check: string, found: string): ServerFinding {
  return { check, level: 'ok', found };
}

/** Joins findings of several servers that are word for word the same. */
export function joinEqual(findings: readonly Finding[]): Finding[] {
  const joined = new Map<string, Finding>();
  for (const finding of findings) {
    const { nodes = [], ...rest } = finding;
    const key = JSON.stringify(rest);
    const before = joined.get(key);
    const all = [...(before?.nodes ?? []), ...nodes];
    joined.set(key, all.length === 0 ? rest : { ...rest, nodes: all });
  }
  return [...joined.values()];
}
