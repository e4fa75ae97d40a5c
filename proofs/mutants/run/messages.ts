/** Files of tests: those of single scripts in exact states (states*.spec.ts), or all others. */
export type TestFiles = 'states' | 'others';

/** Behaviour of a test with the unchanged scripts. */
export interface Coverage {
  readonly test: string;
  /** Time it took, by its own time and in fact, ms. */
  readonly virtualMs: number;
  readonly realMs: number;
  /** Marks of the statements that it ran. */
  readonly ran: readonly string[];
  /** Reason why it fails, and cannot be used. */
  readonly failure?: string | undefined;
}

/** A test to run, with the most time that it may take. */
export interface Order {
  readonly test: string;
  readonly virtualMs: number;
  readonly realMs: number;
}

export type Task =
  | { readonly kind: 'list' }
  | { readonly kind: 'cover'; readonly test: string }
  | { readonly kind: 'mutant'; readonly index: number; readonly orders: readonly Order[] };

export interface Outcome {
  /** Test that failed; undefined if none did. */
  readonly killer?: string | undefined;
  readonly failure?: string | undefined;
  /** Memory of the process, MB. What failed tests leave behind makes it grow. */
  readonly megabytes: number;
}
