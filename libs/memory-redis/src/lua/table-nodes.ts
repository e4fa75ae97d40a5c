import { NULL_POINTER, type LuaValue } from './values';

interface Node {
  readonly index: number;
  /** Key of the node; undefined if the node was never used. */
  key: LuaValue;
  /** Value of the key; undefined if the key was removed. The node stays until another key needs it. */
  value: LuaValue;
  /** Next node in the chain of keys whose hash gives the same index. */
  next: Node | undefined;
}

let objects = 0;
const objectNumbers = new WeakMap<object, number>();
const numberBytes = new DataView(new ArrayBuffer(8));

/**
 * The hash part of a Lua table: all keys that are not in its array. A Map finds a key quickly. Each key gets the same node as in Lua 5.1,
 * because pairs() returns the keys in the order of the nodes.
 */
export class TableNodes {
  private readonly nodes: Node[];
  private readonly byKey = new Map<LuaValue, Node>();
  private free: number;

  /** @param count number of keys to have room for, rounded up to a power of 2; 0 for none */
  constructor(count: number) {
    this.free = count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count));
    this.nodes = Array.from({ length: this.free }, (_, index) => {
      return { index, key: undefined, value: undefined, next: undefined };
    });
  }

  get size(): number {
    return this.nodes.length;
  }

  get(key: LuaValue): LuaValue {
    return this.byKey.get(key)?.value;
  }

  /** Returns the key and the value of the node at an index; undefined if the node has no value. */
  at(index: number): [LuaValue, LuaValue] | undefined {
    const node = this.nodes[index];
    return node?.value === undefined ? undefined : [node.key, node.value];
  }

  indexOf(key: LuaValue): number | undefined {
    return this.byKey.get(key)?.index;
  }

  /** Sets the value of a key that already has a node. @returns false if the key has no node */
  replace(key: LuaValue, value: LuaValue): boolean {
    const node = this.byKey.get(key);
    if (node === undefined) return false;
    node.value = value;
    return true;
  }

  /** Adds a key. @returns false if there is no free node */
  insert(key: LuaValue, value: LuaValue): boolean {
    if (this.nodes.length === 0) return false;
    let node = this.mainPosition(key);
    if (node.value !== undefined) {
      const free = this.nextFree();
      if (free === undefined) return false;
      node = this.makeRoom(node, free);
    }
    if (node.key !== undefined) this.byKey.delete(node.key);
    node.key = key;
    node.value = value;
    this.byKey.set(key, node);
    return true;
  }

  /**
   * Resolves a collision at the node `taken`. If its key belongs to another node, moves that key to `free`.
   *
   * @returns the node for the new key: `taken` if it was emptied, otherwise `free`
   */
  private makeRoom(taken: Node, free: Node): Node {
    let before = this.mainPosition(taken.key);
    if (before === taken) {
      free.next = taken.next;
      taken.next = free;
      return free;
    }
    while (before.next !== taken && before.next !== undefined) before = before.next;
    before.next = free;
    free.key = taken.key;
    free.value = taken.value;
    free.next = taken.next;
    this.byKey.set(free.key, free);
    taken.key = undefined;
    taken.value = undefined;
    taken.next = undefined;
    return taken;
  }

  private nextFree(): Node | undefined {
    while (this.free-- > 0) {
      const node = this.nodes[this.free];
      if (node?.key === undefined) return node;
    }
    return undefined;
  }

  private mainPosition(key: LuaValue): Node {
    return this.nodes[this.mainIndex(key)] as Node;
  }

  private mainIndex(key: LuaValue): number {
    const size = this.nodes.length;
    if (typeof key === 'string') return hashOf(key) & (size - 1);
    if (typeof key === 'boolean') return Number(key) & (size - 1);
    const odd = (size - 1) | 1;
    if (key === NULL_POINTER) return 0;
    if (typeof key !== 'number') return numberOf(key as object) % odd;
    if (key === 0) return 0;
    numberBytes.setFloat64(0, key);
    return ((numberBytes.getUint32(0) + numberBytes.getUint32(4)) >>> 0) % odd;
  }
}

/** Returns the hash of a string as Redis' Lua computes it, from all bytes. The original Lua 5.1 uses at most 32 of them. */
function hashOf(text: string): number {
  let hash = text.length;
  for (let at = text.length; at >= 1; at--) {
    hash ^= ((hash << 5) + (hash >>> 2) + text.charCodeAt(at - 1)) | 0;
  }
  return hash >>> 0;
}

/**
 * Returns a number for a table or function that is used as a key. Lua uses the memory address; here, such objects are numbered by their
 * first use.
 */
function numberOf(object: object): number {
  const known = objectNumbers.get(object);
  if (known !== undefined) return known;
  objectNumbers.set(object, ++objects);
  return objects;
}
