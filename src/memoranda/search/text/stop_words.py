"""Stop words: the words of a language that nearly every text has, and that are not indexed.

A language without a list has none: its common words are indexed, and weigh little by their idf.
The forms are those of the tokenizer: case folded, with accents, and split at apostrophes.
"""

from __future__ import annotations

_ENGLISH = """
    a about above after again against all am an and any are aren as at be because been before
    being below between both but by can cannot could couldn d did didn do does doesn doing don
    down during each few for from further had hadn has hasn have haven having he her here hers
    herself him himself his how i if in into is isn it its itself just ll m me more most mustn
    my myself no nor not now o of off on once only or other our ours ourselves out over own re s
    same shan she should shouldn so some such t than that the their theirs them themselves then
    there these they this those through to too under until up ve very was wasn we were weren
    what when where which while who whom why will with won would wouldn y you your yours
    yourself yourselves
"""
_GERMAN = """
    aber als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
    den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein
    eine einem einen einer eines er es euch euer eure für gegen hab habe haben hat hatte hatten
    hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem
    jeden jeder jedes jetzt kann kein keine keinem keinen keiner mein meine meinem meinen meiner
    mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit
    sich sie sind so soll sollte über um und uns unser unsere unter vom von vor war waren warst
    was weil wenn wer werde werden wie wieder will wir wird wo wollen wurde wurden würde zu zum
    zur zwischen
"""
_FRENCH = """
    à ai ainsi après as au aussi aux avait avant avec avez avons c car ce cela ces cet cette
    ceux chez ci comme d dans de des donc dont du elle elles en entre es est et étaient était
    étant été êtes être eu eux fait furent fut il ils j je l la là le les leur leurs lui m ma
    mais me même mes moi mon n ne ni nos notre nous on ont ou où par pas plus pour puis qu quand
    que quel quelle quelles quels qui s sa sans se sera ses si son sont sous sur t ta te tes toi
    ton tous tout toute toutes très tu un une vers vos votre vous y
"""
_SPANISH = """
    a al algo algunas algunos ante antes aquel aquella aquello aunque cada como con contra cual
    cuando de del desde donde dos durante e el él ella ellas ellos en entre era eran eres es esa
    esas ese eso esos está están estas este esto estos fue fueron ha había habían hace han has
    hasta hay la las le les lo los más me mi mí mis mucho muy ni no nos nosotros nuestra nuestro
    o os otra otras otro otros para pero poco por porque pues que qué quien quién se según ser
    si sí sin sobre son soy su sus también tan tanto te tiene tu tú tus un una unas uno unos
    vosotros y ya yo
"""
_ITALIAN = """
    a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui d da
    dagli dai dal dall dalla dalle dallo de degli dei del dell della delle dello di dove e ed
    era erano essere gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie
    miei mio ne negli nei nel nell nella nelle nello noi non nostra nostro o per perché più
    quale quando quella quelle quelli quello questa queste questi questo qui se si sia siamo
    sono sua sue sugli sui sul sull sulla sulle suo suoi ti tra tu tua tuo tutti tutto un una
    uno vi voi
"""
_PORTUGUESE = """
    a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e
    é ela elas ele eles em entre era eram essa esse esta está estão este eu foi foram há isso
    isto já lhe lhes mais mas me mesmo meu meus minha muito na não nas nem no nos nós nossa
    nosso num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem ser seu
    seus só sua suas também te tem têm teu tu tua um uma você vocês
"""
_DUTCH = """
    aan al als bij dat de deze die dit doch doen door dus een en er ge geen had heb hebben heeft
    hem het hier hij hoe hun ik in is ja je kan maar me meer men met mij mijn naar niet nog nu
    of om omdat onder ons ook op over te tegen toch toen tot u uit uw van veel voor want waren
    was wat werd wie wij wil worden wordt zal ze zich zij zijn zo zonder zou
"""

STOP_WORDS = {
    "english": frozenset(_ENGLISH.split()),
    "porter": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "dutch_porter": frozenset(_DUTCH.split()),
}
"""By the name of the stemmer."""
