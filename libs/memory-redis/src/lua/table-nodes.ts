import { NULL_POINTER, type LuaValue } from './values';

interface Node {
  readonly index: number;
  /** undefined if the node was never used. */
  key: LuaValue;
  /** undefined if the key has no value: the node stays where it is until another key needs it. */
  value: LuaValue;
  /** The next node whose key belongs to the same main position. */
  next: Node | undefined;
}

let objects = 0;
const objectNumbers = new WeakMap<object, number>();
const numberBytes = new DataView(new ArrayBuffer(8));

/** The keys of a table outside its array. A Map finds a node; which node a key gets is decided as in Lua 5.1. */
export class TableNodes {
  private readonly nodes: Node[];
  private readonly byKey = new Map<LuaValue, Node>();
  private free: number;

  /** @param count how many keys there is room for, rounded up to a power of 2; 0 for none */
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

  /** Returns key and value of the node at an index; undefined if it has no value. */
  at(index: number): [LuaValue, LuaValue] | undefined {
    const node = this.nodes[index];
    return node?.value === undefined ? undefined : [node.key, node.value];
  }

  indexOf(key: LuaValue): number | undefined {
    return this.byKey.get(key)?.index;
  }

  /** Sets the value of a key that has a node. @returns false if it has none */
  replace(key: LuaValue, value: LuaValue): boolean {
    const node = this.byKey.get(key);
    if (node === undefined) return false;
    node.value = value;
    return true;
  }

  /** Gives a new key a node. @returns false if there is no room */
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

  /** Returns the node for a new key: `taken`, if the key there belongs elsewhere and can move, or else `free`. */
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

/** The hash of a text in the Lua of Redis: of all its bytes. Lua 5.1 itself takes at most 32 of them. */
function hashOf(text: string): number {
  let hash = text.length;
  for (let at = text.length; at >= 1; at--) {
    hash ^= ((hash << 5) + (hash >>> 2) + text.charCodeAt(at - 1)) | 0;
  }
  return hash >>> 0;
}

/** In Lua the address of a table or function decides; here the order in which they were used as keys. */
function numberOf(object: object): number {
  const known = objectNumbers.get(object);
  if (known !== undefined) return known;
  objectNumbers.set(object, ++objects);
  return objects;
}
