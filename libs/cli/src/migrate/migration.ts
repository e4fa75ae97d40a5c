import type { Project } from './code/project';

/** A codemod: it changes the files of a project, and notes what it cannot do. */
export interface Migration {
  /** The page below docs/ that says how to do the rest. */
  readonly guide: string;
  /** Commands that the user runs when the code is migrated. */
  readonly afterwards: readonly string[];
  migrate(project: Project): void;
}
