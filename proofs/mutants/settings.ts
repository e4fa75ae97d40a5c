/** Settings of a run. */
export interface Settings {
  /** True: files that were measured on this machine, and have not changed since, are not measured again. */
  readonly changed: boolean;
  /** Lua only. True: survivors of the tests of states do not get the other tests. */
  readonly onlyStates: boolean;
  /** TypeScript only: measures only files whose path has one of these texts. */
  readonly rooms: readonly string[];
  /** TypeScript only: most time for the tests of a mutant, ms. */
  readonly budgetMs: number;
  /** TypeScript only. True: mutants that have effect when their module is loaded are tested, too, which takes seconds for each. */
  readonly loading: boolean;
  /** TypeScript only: measures each n-th mutant of a file, the first one always. */
  readonly sample: number;
  /** Time by performance.now() after which no further file is begun. */
  readonly endMs: number;
  readonly workers: number;
  readonly log: (line: string) => void;
}
