/** Result of one check of `luanest doctor`. */
export interface Finding {
  /** Name of the check, such as `eviction`. It is the same in all versions, for programs that read it. */
  readonly check: string;
  /** `error`: luanest loses data or does not work. `warning`: luanest may lose data, may fail, or is slower. */
  readonly level: 'ok' | 'warning' | 'error';
  /** `host:port` of the servers that have this result. Absent if the result is about the whole Cluster or about this machine. */
  readonly nodes?: readonly string[];
  /** Result of the check, as a sentence. */
  readonly found: string;
  /** Reason why this matters. Absent if `level` is `ok`. */
  readonly why?: string;
  /** How to fix the problem: commands, settings, or a page of the documentation. Absent if `level` is `ok`. */
  readonly remedy?: string;
}

/** A finding about one server, before the address of the server is added. */
export type ServerFinding = Omit<Finding, 'nodes'>;

export function ok(check: string, found: string): ServerFinding {
  return { check, level: 'ok', found };
}

/** Merges findings that differ only in their servers. */
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
